"""The indexing function's parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from plumbline.instance import load_instance
from plumbline.settings import IndexRepoSettings
from plumbline.wiring.upstreams import now, secret

if TYPE_CHECKING:
    from plumbline.adapters.algolia import AlgoliaIndex
    from plumbline.index.triggers import Triggers


def index_repo(environ: Mapping[str, str]) -> Triggers:
    """The indexing function; the same object for the same settings."""
    return _index_repo(IndexRepoSettings.from_environment(environ))


def write_index_settings(environ: Mapping[str, str]) -> bool:
    """Write the index's settings if they differ; whether they were written."""
    from plumbline.index.index_settings import IndexSettingsSetup

    settings = IndexRepoSettings.from_environment(environ)
    return IndexSettingsSetup().setup_index_settings(_admin_index(settings))


@cache
def _index_repo(settings: IndexRepoSettings) -> Triggers:
    from plumbline.adapters.aws import aws_client
    from plumbline.adapters.dynamodb import DynamoTable
    from plumbline.adapters.events import SqsQueue
    from plumbline.adapters.s3 import S3Bucket
    from plumbline.errors import PlumblineError, SettingsError
    from plumbline.index.archive_source import ArchiveSource
    from plumbline.index.download import Downloader
    from plumbline.index.indexer import Indexer
    from plumbline.index.manifests import Manifests
    from plumbline.index.refresh import BranchRefresher, Refs
    from plumbline.index.registry import Registry
    from plumbline.index.run import RunParts
    from plumbline.index.triggers import Triggers
    from plumbline.observability import logger

    if settings.queue_url is None:
        raise SettingsError("Settings: QUEUE_URL is missing: the address of the index queue.")

    def report(url: str, error: PlumblineError) -> None:
        logger.warning("repository not refreshed", repository=url, code=error.code)

    hosts = settings.repository_hosts
    bucket = S3Bucket(aws_client("s3"), settings.bucket_name)
    queue = SqsQueue(aws_client("sqs"), settings.queue_url)
    registry = Registry(DynamoTable(aws_client("dynamodb"), settings.registry_table), now)
    downloader = Downloader(hosts)
    policy = load_instance(settings.instance).audit
    indexer = Indexer(
        parts=RunParts(
            index=_admin_index(settings),
            manifests=Manifests(bucket),
            snapshots=bucket,
            allowed_hosts=tuple(policy.allowed_hosts),
        ),
        registry=registry,
        archives=ArchiveSource(bucket, downloader, hosts=hosts),
        queue=queue,
        refresher=BranchRefresher(
            registry, Refs(downloader, hosts), queue, hosts=hosts, clock=now, report=report
        ),
        clock=now,
    )
    return Triggers(indexer, queue, bucket=settings.bucket_name, clock=now, log=logger)


def _admin_index(settings: IndexRepoSettings) -> AlgoliaIndex:
    from plumbline.adapters.algolia import AlgoliaIndex

    key = settings.algolia_admin_api_key or secret(settings.algolia_admin_api_key_parameter)
    return AlgoliaIndex(
        settings.algolia_app_id, key, settings.algolia_index_name, url=settings.algolia_url
    )
