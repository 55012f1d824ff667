"""IAM logins for ElastiCache Serverless, signed without a boto3 session.

The toolkit needs botocore only, and botocore is imported when the first connection is made.
Source: design, decision 15; a token opens connections for 15 minutes.
"""

from __future__ import annotations

from redis.credentials import CredentialProvider


class IamCredentials(CredentialProvider):
    """A fresh signed token for each new connection."""

    def __init__(self, cache_name: str, user: str, region: str) -> None:
        self._cache_name, self._user, self._region = cache_name, user, region

    def get_credentials(self) -> tuple[str, str]:
        """The user name and a token that opens connections for 15 minutes."""
        from developer_toolkit_elasticache import generate_iam_auth_token

        token: str = generate_iam_auth_token(
            serverless_cache_name=self._cache_name, user_id=self._user, region=self._region
        )
        return self._user, token
