"""boto3 clients with timeouts and retries of our own choosing."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

# botocore's defaults would wait 60 s for a connection: longer than a whole turn.
_CONFIG = Config(
    connect_timeout=3,
    read_timeout=20,
    retries={"max_attempts": 4, "mode": "standard"},
)


def aws_client(service: str) -> Any:
    """A client of ``s3``, ``sqs``, ``events``, ``dynamodb`` or ``ssm``; safe between threads."""
    return boto3.client(service, config=_CONFIG)  # type: ignore[call-overload]
