"""``plumbline index``: put a repository where the indexer finds it, and watch it being indexed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from devstack.aws import CREDENTIALS
from devstack.client import Client
from devstack.failure import CommandError, reason
from devstack.packing import Archive, is_address, pack
from devstack.show import progress_bar
from devstack.terminal import say

# Quick at first, then slower than the rate limit of 100 a minute.
_QUICK_SECONDS, _QUICK_POLLS = 0.2, 30
_SLOW_SECONDS = 1.0
# A repository that has not been heard of for this long is not coming.
_SILENCE_SECONDS = 60.0


def index_repository(
    client: Client, reference: str, environment: Mapping[str, str], *, ref: str | None = None
) -> dict[str, Any]:
    """Index a folder, an archive or an address, with a progress bar; the repository as it ended.

    ``environment`` names the bucket (BUCKET_NAME) and, for the embedded stack, its AWS endpoint
    and keys. Raises ``CommandError`` with the indexer's reason when it fails.
    """
    started = datetime.now(UTC) - timedelta(milliseconds=50)
    if is_address(reference):
        client.index(reference, ref)
        return _watch(client, reference, started, reference)
    archive = pack(reference)
    for why, number in sorted(archive.left_out.items()):
        say(f"Left out: {number} {why}.")
    try:
        _upload(archive, environment)
    finally:
        if archive.temporary:
            archive.path.unlink(missing_ok=True)
    return _watch(client, archive.url, started, reference)


def _upload(archive: Archive, environment: Mapping[str, str]) -> None:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.session import Session

    bucket = environment.get("BUCKET_NAME")
    if not bucket:
        raise CommandError(
            "Folders and archives go through the bucket: give its name with --bucket, or index"
            " the repository by its address."
        )
    # The embedded stack has its own keys, whatever profile or proxy the user's environment names.
    embedded = environment.get("AWS_ACCESS_KEY_ID") == CREDENTIALS["AWS_ACCESS_KEY_ID"]
    own = Session(session_vars={"profile": (None, None, None, None)}) if embedded else None
    direct = Config(proxies={}) if embedded else None
    try:
        session = boto3.Session(
            aws_access_key_id=environment.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=None if embedded else environment.get("AWS_SESSION_TOKEN"),
            region_name=environment.get("AWS_REGION"),
            botocore_session=own,
        )
        endpoint = environment.get("AWS_ENDPOINT_URL") or None
        s3 = session.client("s3", endpoint_url=endpoint, config=direct)
        # One request: a multipart upload would announce itself twice.
        with archive.path.open("rb") as body:
            s3.put_object(Bucket=bucket, Key=archive.key, Body=body, Metadata=archive.metadata())
    except (BotoCoreError, ClientError) as exc:
        raise CommandError(f"The archive could not be put into the bucket {bucket}: {exc}") from exc
    except OSError as exc:
        raise CommandError(f"{archive.path}: {reason(exc)}.") from exc


def _watch(client: Client, url: str, started: datetime, title: str) -> dict[str, Any]:
    """Follow the registry until the repository is completed or has failed."""
    wanted = _comparable(url)
    heard = time.monotonic()
    last: object = None
    polls = 0
    # The last part alone: a long path would push the bar out of the line.
    with progress_bar(f"Indexing {title.rstrip('/').rpartition('/')[2] or title}") as advance:
        while True:
            repository = next(
                (r for r in client.repositories() if _comparable(r["url"]) == wanted), None
            )
            if repository and repository != last:
                last, heard = repository, time.monotonic()
            if repository and _at(repository.get("updated_at")) >= started:
                status = str(repository["status"])
                advance(1.0 if status == "completed" else repository["progress"], status)
                if status == "completed":
                    return repository
                # A failure that is tried again later stays pending, with its reason.
                if status == "failed" or (status == "pending" and repository.get("reason")):
                    break
            if time.monotonic() - heard > _SILENCE_SECONDS:
                raise CommandError(f"{title}: the indexer has not been heard of for a minute.")
            polls += 1
            time.sleep(_QUICK_SECONDS if polls < _QUICK_POLLS else _SLOW_SECONDS)
    raise CommandError(f"{title}: {repository.get('reason') or 'indexing failed'}")


def _comparable(url: str) -> str:
    return url.rstrip("/").removesuffix(".git").lower()


def _at(value: object) -> datetime:
    if not isinstance(value, str):
        return datetime.min.replace(tzinfo=UTC)
    return datetime.fromisoformat(value)
