"""The Lambda Runtime API loop with streamed responses; standard library only.

``functions/search/stream.sh`` starts it in the place of the managed runtime's client, which
cannot stream. It takes an invocation, calls the handler, posts the response chunk by chunk, and
takes the next. The handler is ``handler(event, context)`` and returns an object with ``status``,
``headers`` and ``body`` (bytes, or an iterable of bytes that may have a ``close``). Source:
design, decision 14.
"""

from __future__ import annotations

import http.client
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from plumbline.runtime_response import (
    API_PREFIX,
    ERROR_TYPE_HEADER,
    StreamableResponse,
    StreamedResponse,
    body_chunks,
    error_payload,
    error_type,
    log_error,
)

TRACE_ID_VARIABLE = "_X_AMZN_TRACE_ID"
# A reader may hold a turn up for this long, and never for more than half of the time it has left.
STALL_SECONDS = 30.0


Handler = Callable[[dict[str, Any], "Context"], StreamableResponse]


@dataclass(frozen=True, slots=True)
class Context:
    """What the managed runtime gives a handler about its invocation."""

    aws_request_id: str
    invoked_function_arn: str
    deadline_ms: int
    function_name: str
    function_version: str
    memory_limit_in_mb: str
    log_group_name: str
    log_stream_name: str
    identity: SimpleNamespace
    client_context: SimpleNamespace | None
    tenant_id: str | None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda stops the function, never below 0."""
        return max(0, self.deadline_ms - int(time.time() * 1000))


class InitError(Exception):
    """The handler cannot be loaded; ``kind`` is the Runtime API's error type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def load_handler(name: str, task_root: str) -> Handler:
    """The function that ``_HANDLER`` names (``module.function``), found in the task's folder.

    Raises ``InitError`` for a name that has no dot, a module that fails to import and a
    function that is not there.
    """
    module_name, dot, function_name = name.rpartition(".")
    if not dot or not module_name or not function_name:
        raise InitError("Runtime.MalformedHandlerName", f"Bad handler name: {name!r}.")
    if task_root not in sys.path:
        sys.path.insert(0, task_root)
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except SyntaxError as exc:
        raise InitError("Runtime.UserCodeSyntaxError", f"Syntax error in {exc.filename}.") from exc
    except ImportError as exc:
        message = f"Unable to import module {module_name!r}: {exc}"
        raise InitError("Runtime.ImportModuleError", message) from exc
    except Exception as exc:
        message = f"Module {module_name!r} failed while it was loaded: {exc}"
        raise InitError("Runtime.Unknown", message) from exc
    handler = getattr(module, function_name, None)
    if not callable(handler):
        message = f"Handler {function_name!r} is missing in module {module_name!r}."
        raise InitError("Runtime.HandlerNotFound", message)
    loaded: Handler = handler
    return loaded


def context_of(headers: Mapping[str, str], environ: Mapping[str, str]) -> Context:
    """The invocation's context, from the headers of ``next`` and the function's environment."""
    identity = json.loads(headers.get("lambda-runtime-cognito-identity") or "{}")
    client = json.loads(headers.get("lambda-runtime-client-context") or "null")
    return Context(
        aws_request_id=headers["lambda-runtime-aws-request-id"],
        invoked_function_arn=headers.get("lambda-runtime-invoked-function-arn", ""),
        deadline_ms=int(headers.get("lambda-runtime-deadline-ms", "0")),
        function_name=environ.get("AWS_LAMBDA_FUNCTION_NAME", ""),
        function_version=environ.get("AWS_LAMBDA_FUNCTION_VERSION", ""),
        memory_limit_in_mb=environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", ""),
        log_group_name=environ.get("AWS_LAMBDA_LOG_GROUP_NAME", ""),
        log_stream_name=environ.get("AWS_LAMBDA_LOG_STREAM_NAME", ""),
        identity=SimpleNamespace(
            cognito_identity_id=identity.get("cognitoIdentityId"),
            cognito_identity_pool_id=identity.get("cognitoIdentityPoolId"),
        ),
        client_context=SimpleNamespace(**client) if isinstance(client, dict) else None,
        tenant_id=headers.get("lambda-runtime-aws-tenant-id"),
    )


class RuntimeApi:
    """The Runtime API at ``host[:port]``: what to do next, and where errors go."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self.host = host
        self.port = int(port) if port else None
        # No timeout: the next invocation may be hours away, with the process frozen meanwhile.
        self._next = http.client.HTTPConnection(self.host, self.port, timeout=None)

    def next_invocation(self) -> tuple[Mapping[str, str], bytes]:
        """Wait for an invocation: its headers, in lower case, and its event.

        Raises ``OSError`` or ``HTTPException`` when the API is gone.
        """
        try:
            return self._get_next()
        except (OSError, http.client.HTTPException):
            # A connection kept open through a freeze may be dead; a new one tells.
            self._next.close()
            return self._get_next()

    def _get_next(self) -> tuple[Mapping[str, str], bytes]:
        self._next.request("GET", f"{API_PREFIX}/invocation/next")
        answer = self._next.getresponse()
        event = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"The Runtime API answered {answer.status}.")
        return {name.lower(): value for name, value in answer.headers.items()}, event

    def post_error(self, path: str, kind: str, payload: Mapping[str, Any]) -> None:
        """Report an error; one that cannot be reported is only logged."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=STALL_SECONDS)
        headers = {
            "Content-Type": "application/vnd.aws.lambda.error+json",
            ERROR_TYPE_HEADER: kind,
        }
        try:
            connection.request("POST", API_PREFIX + path, json.dumps(payload), headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException) as unreported:
            log_error("The error could not be reported.", unreported)
        finally:
            connection.close()


def serve_next(api: RuntimeApi, handler: Handler, environ: Mapping[str, str]) -> None:
    """Take one invocation through the handler to its end.

    An error before the first byte is posted as the invocation's error, one after it as trailers.
    When the reader goes, the body is still read to its end. Only what is no ``Exception``
    (``SystemExit``) is raised again, after it was reported.
    """
    headers, raw_event = api.next_invocation()
    request_id = headers["lambda-runtime-aws-request-id"]
    _set_trace_id(headers.get("lambda-runtime-trace-id"))
    body: Any = None
    stream: StreamedResponse | None = None
    try:
        context = context_of(headers, environ)
        response = handler(json.loads(raw_event), context)
        body = response.body
        chunks = body_chunks(body)
        # The first chunk is awaited before anything is sent, so that its failure is an error.
        first = next(chunks, b"")
        stream = StreamedResponse(
            api.host, api.port, request_id, patience=lambda: _patience(context)
        )
        stream.open(response.status, response.headers, first)
        for chunk in chunks:
            stream.write(chunk)
        stream.finish()
    except BaseException as exc:
        log_error("The handler failed.", exc, request_id)
        if stream is None or not stream.opened:
            path = f"/invocation/{request_id}/error"
            api.post_error(path, error_type(exc), error_payload(exc))
        else:
            stream.fail(exc)
        if not isinstance(exc, Exception):
            raise
    finally:
        _close(body, request_id)


def _close(body: Any, request_id: str) -> None:
    close = getattr(body, "close", None)
    if close is None:
        return
    try:
        close()
    except Exception as exc:
        log_error("Closing the response's body failed.", exc, request_id)


def _patience(context: Context) -> float:
    half_of_the_rest = context.get_remaining_time_in_millis() / 2000
    return min(STALL_SECONDS, max(0.1, half_of_the_rest))


def _set_trace_id(trace_id: str | None) -> None:
    if trace_id:
        os.environ[TRACE_ID_VARIABLE] = trace_id
    else:
        os.environ.pop(TRACE_ID_VARIABLE, None)


def main() -> int:
    """Load the handler and serve until the Runtime API is gone; the exit status is never 0."""
    api = RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        handler = load_handler(os.environ["_HANDLER"], os.environ["LAMBDA_TASK_ROOT"])
    except InitError as exc:
        log_error("The handler could not be loaded.", exc)
        api.post_error("/init/error", exc.kind, error_payload(exc) | {"errorType": exc.kind})
        return 1
    while True:
        try:
            serve_next(api, handler, os.environ)
        except (OSError, http.client.HTTPException) as exc:
            log_error("The Runtime API is gone.", exc)
            return 1


if __name__ == "__main__":
    sys.exit(main())
