"""IAM logins for ElastiCache Serverless, signed without a boto3 session.

A boto3 session would be loaded on the way to the first byte; the toolkit signs with botocore alone,
and the function's own credentials are in its environment. Source: design, decision 15.
"""

from __future__ import annotations

from redis.credentials import CredentialProvider


class IamCredentials(CredentialProvider):
    """A freshly signed token for each new connection; one opens connections for 15 minutes."""

    def __init__(self, cache_name: str, user: str) -> None:
        self._cache_name, self._user = cache_name, user

    def get_credentials(self) -> tuple[str, str]:
        """The user name and a token, in the region and with the rights of the function itself."""
        from botocore.credentials import EnvProvider
        from developer_toolkit_elasticache import generate_iam_auth_token

        token: str = generate_iam_auth_token(
            serverless_cache_name=self._cache_name,
            user_id=self._user,
            credentials=EnvProvider().load(),
        )
        return self._user, token
