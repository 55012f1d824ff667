"""IAM logins for ElastiCache Serverless: a presigned ``connect`` request, with no AWS library.

AWS's toolkit and botocore's signer load botocore.session, which costs a cold start more than all
else before the first byte; a test compares every token with the toolkit's. Source: design,
decision 15; docs/decisions/2026-11-29-elasticache-login.md.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlencode

from redis.credentials import CredentialProvider

from plumbline.errors import SettingsError

_SERVICE = "elasticache"
_ALGORITHM = "AWS4-HMAC-SHA256"
_TOKEN_SECONDS = 900
_EMPTY_BODY = hashlib.sha256(b"").hexdigest()


class IamCredentials(CredentialProvider):
    """A freshly signed token for each new connection; one opens connections for 15 minutes.

    ``environ`` is where Lambda puts the function's own credentials and region.
    """

    def __init__(
        self,
        cache_name: str,
        user: str,
        environ: Mapping[str, str],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._cache_name, self._user = cache_name.lower(), user.lower()
        self._environ, self._clock = environ, clock

    def get_credentials(self) -> tuple[str, str]:
        """The user name and a token. ``SettingsError`` where there are no credentials."""
        return self._user, sign_login(self._cache_name, self._user, self._environ, self._clock())


def sign_login(cache_name: str, user: str, environ: Mapping[str, str], now: datetime) -> str:
    """The token: the request's address without its scheme. Source: AWS, Signature Version 4."""
    missing = [
        name
        for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
        if not environ.get(name)
    ]
    if missing:
        raise SettingsError(f"Settings: {missing[0]} is missing: Lambda sets it, or use REDIS_URL.")
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    scope = (day, environ["AWS_REGION"], _SERVICE, "aws4_request")
    query = {
        "Action": "connect",
        "ResourceType": "ServerlessCache",
        "User": user,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": "/".join((environ["AWS_ACCESS_KEY_ID"], *scope)),
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(_TOKEN_SECONDS),
        "X-Amz-SignedHeaders": "host",
    }
    if environ.get("AWS_SESSION_TOKEN"):
        query["X-Amz-Security-Token"] = environ["AWS_SESSION_TOKEN"]
    canonical = urlencode(sorted(query.items()), quote_via=quote, safe="")
    request = "\n".join(("GET", "/", canonical, f"host:{cache_name}", "", "host", _EMPTY_BODY))
    digest = hashlib.sha256(request.encode()).hexdigest()
    to_sign = "\n".join((_ALGORITHM, stamp, "/".join(scope), digest))
    key = f"AWS4{environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    return f"{cache_name}/?{canonical}&X-Amz-Signature={signature}"
