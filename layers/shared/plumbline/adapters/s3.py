"""The bucket: archives, manifests and snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError

from plumbline.errors import ArchiveRefused, StorageUnavailable
from plumbline.index.archive_source import StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_PIECE_BYTES = 1024 * 1024
_DELETE_AT_ONCE = 1000
_MISSING = frozenset({"NoSuchKey", "NotFound", "404"})


class S3Bucket:
    """One bucket. Every method raises ``StorageUnavailable`` when S3 does not answer or refuses."""

    def __init__(self, client: S3Client, name: str) -> None:
        self._client, self.name = client, name

    def get(self, key: str) -> bytes | None:
        """The object, or None."""
        with _mapped_errors():
            try:
                return self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
            except ClientError as exc:
                if _is_missing(exc):
                    return None
                raise

    def put(self, key: str, data: bytes) -> None:
        """Write the object; it is there whole or not at all."""
        with _mapped_errors():
            self._client.put_object(Bucket=self.name, Key=key, Body=data)

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with ``prefix``, in order."""
        with _mapped_errors():
            pages = self._client.get_paginator("list_objects_v2")
            found = [
                item["Key"]
                for page in pages.paginate(Bucket=self.name, Prefix=prefix)
                for item in page.get("Contents", ())
            ]
        yield from found

    def siblings(self, key: str) -> list[str]:
        """The keys in the same folder, deeper ones and the folder's own mark left out."""
        folder = key.rpartition("/")[0] + "/"
        with _mapped_errors():
            pages = self._client.get_paginator("list_objects_v2")
            return [
                item["Key"]
                for page in pages.paginate(Bucket=self.name, Prefix=folder, Delimiter="/")
                for item in page.get("Contents", ())
                if item["Key"] != folder
            ]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; those that are not there are no error."""
        wanted = list(keys)
        with _mapped_errors():
            for start in range(0, len(wanted), _DELETE_AT_ONCE):
                some = wanted[start : start + _DELETE_AT_ONCE]
                answer = self._client.delete_objects(
                    Bucket=self.name,
                    Delete={"Objects": [{"Key": key} for key in some], "Quiet": True},
                )
                if answer.get("Errors"):
                    raise StorageUnavailable("Some objects of the bucket could not be deleted.")

    def download(self, key: str, file: BinaryIO, *, max_bytes: int) -> StoredObject | None:
        """Write the object to the file; None if it is gone. ``ArchiveRefused`` if it is larger."""
        with _mapped_errors():
            try:
                answer = self._client.get_object(Bucket=self.name, Key=key)
            except ClientError as exc:
                if _is_missing(exc):
                    return None
                raise
            if answer["ContentLength"] > max_bytes:
                answer["Body"].close()
                raise ArchiveRefused(f"The archive is larger than {max_bytes:,} bytes.")
            for piece in answer["Body"].iter_chunks(_PIECE_BYTES):
                file.write(piece)
        metadata = {name.lower(): value for name, value in answer["Metadata"].items()}
        return StoredObject(key, answer["ETag"].strip('"'), metadata)

    def upload(self, key: str, file: BinaryIO) -> None:
        """Write a file from where it stands; it is there whole or not at all."""
        with _mapped_errors():
            self._client.upload_fileobj(file, self.name, key)

    def size(self, key: str) -> int | None:
        """The object's size in bytes; None if there is none."""
        with _mapped_errors():
            try:
                return self._client.head_object(Bucket=self.name, Key=key)["ContentLength"]
            except ClientError as exc:
                if _is_missing(exc):
                    return None
                raise

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to, not including, ``end``."""
        with _mapped_errors():
            answer = self._client.get_object(
                Bucket=self.name, Key=key, Range=f"bytes={start}-{end - 1}"
            )
            return answer["Body"].read()


def _is_missing(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _MISSING


@contextmanager
def _mapped_errors() -> Iterator[None]:
    from boto3.exceptions import Boto3Error

    try:
        yield
    except (BotoCoreError, ClientError, Boto3Error) as exc:
        raise StorageUnavailable("The bucket did not answer; try again later.") from exc
