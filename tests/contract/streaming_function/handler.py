"""A function for the runtime's tests: each event says what its response does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EMF_LINE = '{"_aws":{"CloudWatchMetrics":[]},"Turns":1}'


@dataclass
class Response:
    """The runtime reads three attributes, whatever the class."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})
    body: Any = b""


class Witnessed:
    """A body that notes in a file how many chunks were asked of it, and that it was closed."""

    def __init__(self, chunks: Iterator[bytes], witness: Path) -> None:
        self._chunks = chunks
        self._witness = witness

    def __iter__(self) -> Iterator[bytes]:
        taken = 0
        for chunk in self._chunks:
            taken += 1
            yield chunk
        self._note(f"ended {taken}")

    def close(self) -> None:
        self._note("closed")

    def _note(self, line: str) -> None:
        with self._witness.open("a") as witness:
            witness.write(line + "\n")


def as_json(event: dict[str, Any], context: Any) -> Response:
    return Response(404, {"content-type": "application/json"}, b'{"error":{}}')


def chunks(event: dict[str, Any], context: Any) -> Response:
    return Response(body=(chunk.encode() for chunk in event["chunks"]))


def gated(event: dict[str, Any], context: Any) -> Response:
    """The second chunk waits until somebody writes into the named pipe."""

    def body() -> Iterator[bytes]:
        yield b"first"
        Path(event["gate"]).read_bytes()
        yield b"last"

    return Response(body=body())


def flood(event: dict[str, Any], context: Any) -> Response:
    """More than any buffer holds: a reader that takes nothing is felt."""
    flow = (b"x" * event["size"] for _ in range(event["count"]))
    return Response(body=Witnessed(flow, Path(event["witness"])))


def about(event: dict[str, Any], context: Any) -> Response:
    import json

    names = (
        "function_name",
        "function_version",
        "memory_limit_in_mb",
        "invoked_function_arn",
        "aws_request_id",
        "log_group_name",
        "log_stream_name",
        "tenant_id",
    )
    told = {name: getattr(context, name) for name in names}
    told["remaining"] = context.get_remaining_time_in_millis()
    told["trace_id"] = os.environ.get("_X_AMZN_TRACE_ID")
    told["identity"] = context.identity.cognito_identity_id
    told["client"] = context.client_context.custom if context.client_context else None
    told["pid"] = os.getpid()
    told["event"] = event
    return Response(body=json.dumps(told).encode())


def metrics(event: dict[str, Any], context: Any) -> Response:
    print(EMF_LINE)  # noqa: T201 - metrics are lines on standard output
    return Response(body=b"done")


def fail_before(event: dict[str, Any], context: Any) -> Response:
    raise LookupError("nothing was sent yet")


def fail_first(event: dict[str, Any], context: Any) -> Response:
    def body() -> Iterator[bytes]:
        raise LookupError("the first chunk failed")
        yield b""

    return Response(body=body())


def fail_after(event: dict[str, Any], context: Any) -> Response:
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        else:
            raise KeyError("z" * event.get("length", 1))

    def body() -> Iterator[bytes]:
        yield b"paragraph"
        deep(50)

    return Response(body=body())


def nothing(event: dict[str, Any], context: Any) -> Any:
    return None


def text(event: dict[str, Any], context: Any) -> Response:
    return Response(body="text")


def bad_header(event: dict[str, Any], context: Any) -> Response:
    return Response(headers={"x": object()}, body=b"never sent")  # type: ignore[dict-item]


def leave(event: dict[str, Any], context: Any) -> Response:
    sys.exit(3)


def handler(event: dict[str, Any], context: Any) -> Response:
    act: Callable[[dict[str, Any], Any], Response] = globals()[event["do"]]
    return act(event, context)
