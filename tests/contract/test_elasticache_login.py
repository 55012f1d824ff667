"""Our login tokens against those of AWS's own toolkit, made at the same moment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import parse_qs

import pytest
from botocore.credentials import Credentials
from developer_toolkit_elasticache import generate_iam_auth_token

from plumbline.adapters.elasticache import IamCredentials, sign_login
from plumbline.errors import SettingsError

KEYS = {
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
}


def toolkit(cache: str, user: str, environ: Mapping[str, str]) -> tuple[str, datetime]:
    """The toolkit's token and the moment that it was signed for."""
    token: str = generate_iam_auth_token(
        serverless_cache_name=cache,
        user_id=user,
        region=environ["AWS_REGION"],
        credentials=Credentials(
            environ["AWS_ACCESS_KEY_ID"],
            environ["AWS_SECRET_ACCESS_KEY"],
            environ.get("AWS_SESSION_TOKEN"),
        ),
    )
    date = parse_qs(token.partition("?")[2])["X-Amz-Date"][0]
    return token, datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@pytest.mark.parametrize("region", ["eu-west-1", "us-east-1", "ap-southeast-2"])
@pytest.mark.parametrize("session", [None, "IQoJb3Jp//Z2lu+X2Vj/abc=="])
@pytest.mark.parametrize(("cache", "user"), [("plumbline", "plumbline-search"), ("c-1", "u1")])
def test_the_token_is_the_toolkits(region: str, session: str | None, cache: str, user: str) -> None:
    environ = {**KEYS, "AWS_REGION": region}
    if session:
        environ["AWS_SESSION_TOKEN"] = session
    theirs, now = toolkit(cache, user, environ)
    ours = sign_login(cache, user, environ, now)
    # Neither the order of the parameters nor the place of the signature is part of what is signed.
    assert parse_qs(ours.partition("?")[2]) == parse_qs(theirs.partition("?")[2])
    assert ours.partition("?")[0] == theirs.partition("?")[0]


def test_names_are_lower_case_as_the_service_keeps_them() -> None:
    now = datetime(2026, 11, 29, tzinfo=UTC)
    mixed = IamCredentials("My-Cache", "My-User", KEYS, lambda: now).get_credentials()
    assert mixed == IamCredentials("my-cache", "my-user", KEYS, lambda: now).get_credentials()
    assert mixed[0] == "my-user"


@pytest.mark.parametrize("missing", sorted(KEYS))
def test_missing_credentials_are_named(missing: str) -> None:
    environ = {name: value for name, value in KEYS.items() if name != missing}
    with pytest.raises(SettingsError, match=missing):
        sign_login("cache", "user", environ, datetime.now(UTC))


def test_no_aws_library_is_loaded_for_a_login() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from plumbline.adapters.elasticache import IamCredentials; import os;"
        "IamCredentials('c', 'u', os.environ).get_credentials();"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'boto3', 'botocore'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **KEYS},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[]"
