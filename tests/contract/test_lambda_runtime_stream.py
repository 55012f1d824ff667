"""The runtime, started as Lambda starts it, against a Runtime API that times each chunk."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.runtime_api import AfterNext, RuntimeApiServer
from tests.contract.streaming_function.handler import EMF_LINE

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = Path(__file__).parent / "streaming_function"
# Long enough to be what Lambda does between two questions; shorter where nobody waits for CI.
FREEZE_SECONDS = 60.0 if os.environ.get("CI") else 1.2

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def api() -> Iterator[RuntimeApiServer]:
    server = RuntimeApiServer()
    yield server
    server.close()
    assert server.violations == []


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(
        api: RuntimeApiServer, task_root: Path = FUNCTION, **environ: str
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            # Lambda hands the wrapper the command it would have run itself.
            [ROOT / "functions/search/stream.sh", "/var/lang/bin/python3.13", "bootstrap.py"],
            env={
                "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
                "PYTHONPATH": str(ROOT / "layers/shared"),
                "AWS_LAMBDA_RUNTIME_API": api.address,
                "LAMBDA_TASK_ROOT": str(task_root),
                "LAMBDA_RUNTIME_DIR": "/var/runtime",
                "_HANDLER": "handler.handler",
                "AWS_LAMBDA_FUNCTION_NAME": "plumbline-search",
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
                "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/plumbline-search",
                "AWS_LAMBDA_LOG_STREAM_NAME": "2026/01/01/[$LATEST]0",
                **environ,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_each_chunk_leaves_before_the_handler_has_made_the_next(
    api: RuntimeApiServer, start: Start, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    start(api)
    turn = api.invoke({"do": "gated", "gate": str(gate)})
    turn.wait_for_chunks(1)
    assert turn.prelude == {"statusCode": 200, "headers": {"content-type": "text/event-stream"}}
    assert turn.body == b"first"
    assert not turn.complete
    gate.write_bytes(b"go")  # the handler cannot have made its last chunk before this
    turn.wait()
    assert [chunk for _, chunk in turn.chunks[1:]] == [b"last"]
    assert turn.response_headers["lambda-runtime-function-response-mode"] == "streaming"
    assert turn.response_headers["transfer-encoding"] == "chunked"
    assert (
        turn.response_headers["content-type"]
        == "application/vnd.awslambda.http-integration-response"
    )
    assert turn.trailers == {}


def test_a_json_response_carries_the_prelude_too(api: RuntimeApiServer, start: Start) -> None:
    start(api)
    turn = api.invoke({"do": "as_json"}).wait()
    assert turn.prelude == {"statusCode": 404, "headers": {"content-type": "application/json"}}
    assert turn.body == b'{"error":{}}'


@pytest.mark.parametrize(
    ("chunks", "body"),
    [(["a", "", "b"], b"ab"), (["", ""], b""), ([], b""), (["", "a"], b"a")],
    ids=["an empty one between", "only empty ones", "none", "an empty one first"],
)
def test_empty_chunks_do_not_end_the_response(
    api: RuntimeApiServer, start: Start, chunks: list[str], body: bytes
) -> None:
    start(api)
    turn = api.invoke({"do": "chunks", "chunks": chunks}).wait()
    assert turn.body == body
    assert turn.error is None


def test_a_handler_learns_what_powertools_reads(api: RuntimeApiServer, start: Start) -> None:
    start(api)
    told = []
    for headers in (
        {
            "Lambda-Runtime-Trace-Id": "Root=1-67a;Sampled=1",
            "Lambda-Runtime-Cognito-Identity": '{"cognitoIdentityId": "eu:1"}',
            "Lambda-Runtime-Client-Context": '{"custom": {"a": "b"}}',
        },
        {},
    ):
        turn = api.invoke({"do": "about", "é": "ü"}, seconds=20, headers=headers).wait()
        told.append((turn.request_id, json.loads(turn.body)))
    (first_id, first), (second_id, second) = told
    assert first["function_name"] == "plumbline-search"
    assert first["function_version"] == "$LATEST"
    assert first["memory_limit_in_mb"] == "1024"
    assert first["invoked_function_arn"] == "arn:aws:lambda:eu-west-1:1:function:search"
    assert first["log_group_name"] == "/aws/lambda/plumbline-search"
    assert first["log_stream_name"] == "2026/01/01/[$LATEST]0"
    assert first["aws_request_id"] == first_id != second_id
    assert 10_000 < first["remaining"] <= 20_000
    assert first["event"] == {"do": "about", "é": "ü"}
    assert (first["trace_id"], second["trace_id"]) == ("Root=1-67a;Sampled=1", None)
    assert (first["identity"], second["identity"]) == ("eu:1", None)
    assert (first["client"], second["client"]) == ({"a": "b"}, None)
    assert first["pid"] == second["pid"]  # two in a row are one process's work


@pytest.mark.parametrize(
    ("do", "kind", "message"),
    [
        ("fail_before", "Function.LookupError", "nothing was sent yet"),
        ("fail_first", "Function.LookupError", "the first chunk failed"),
        ("nothing", "Function.AttributeError", "'NoneType' object has no attribute 'body'"),
        ("text", "Function.TypeError", "must be bytes"),
        ("bad_header", "Function.TypeError", "not JSON serializable"),
    ],
)
def test_a_failure_before_the_first_byte_is_the_invocations_error(
    api: RuntimeApiServer, start: Start, do: str, kind: str, message: str
) -> None:
    start(api)
    failed = api.invoke({"do": do}).wait()
    assert failed.chunks == []
    assert failed.error is not None
    assert failed.error_type == kind
    assert failed.error["errorType"] == kind.partition(".")[2]
    assert message in failed.error["errorMessage"]
    assert failed.error["stackTrace"]
    assert api.invoke({"do": "as_json"}).wait().complete  # and the next is served


def test_an_event_that_is_no_json_is_an_error_too(api: RuntimeApiServer, start: Start) -> None:
    start(api)
    failed = api.invoke(None, raw=b"{").wait()
    assert failed.error_type == "Function.JSONDecodeError"


@pytest.mark.parametrize("length", [1, 100_000], ids=["short", "longer than trailers may be"])
def test_a_failure_after_the_first_byte_is_told_in_trailers(
    api: RuntimeApiServer, start: Start, length: int
) -> None:
    start(api)
    failed = api.invoke({"do": "fail_after", "length": length}).wait()
    assert failed.error is None
    assert failed.body == b"paragraph"
    assert failed.response_headers["trailer"].lower() == ", ".join(failed.trailers)
    assert failed.trailers["lambda-runtime-function-error-type"] == "Function.KeyError"
    encoded = failed.trailers["lambda-runtime-function-error-body"]
    error = json.loads(base64.b64decode(encoded))
    assert error["errorType"] == "KeyError"
    assert error["errorMessage"].startswith("'z")
    assert len(encoded) < 3_700
    assert api.invoke({"do": "as_json"}).wait().complete


@pytest.mark.parametrize("reading", ["cut", "stall"])
def test_a_turn_goes_on_when_its_reader_goes(
    api: RuntimeApiServer, start: Start, tmp_path: Path, reading: str
) -> None:
    witness = tmp_path / "witness"
    process = start(api)
    api.wait_until_asked()
    # Two seconds to the deadline: a stalled reader may hold the turn up for one.
    turn = api.invoke(
        {"do": "flood", "size": 65_536, "count": 400, "witness": str(witness)},
        seconds=2.0,
        reading="cut" if reading == "cut" else "stall",
    ).wait()
    assert len(turn.chunks) == 1
    api.wait_until_asked()
    assert witness.read_text() == "ended 400\nclosed\n"
    assert api.invoke({"do": "as_json"}).wait().body == b'{"error":{}}'
    api.close()
    _, stderr = process.communicate(timeout=10)
    assert "could not be posted to its end" in stderr


def test_a_body_is_closed_when_all_went_well(
    api: RuntimeApiServer, start: Start, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    start(api)
    api.wait_until_asked()
    turn = api.invoke({"do": "flood", "size": 10, "count": 3, "witness": str(witness)}).wait()
    assert turn.body == b"x" * 30
    api.wait_until_asked()
    assert witness.read_text() == "ended 3\nclosed\n"


def test_metrics_on_standard_output_are_not_held_back(api: RuntimeApiServer, start: Start) -> None:
    process = start(api)
    api.invoke({"do": "metrics"}).wait()
    assert process.stdout is not None
    # The process is alive and idle; a buffered line would still be inside it.
    assert process.stdout.readline() == EMF_LINE + "\n"
    assert process.poll() is None


def test_an_invocation_after_a_freeze(api: RuntimeApiServer, start: Start) -> None:
    process = start(api)
    before = json.loads(api.invoke({"do": "about"}).wait().body)
    for _ in range(2):
        api.wait_until_asked()
    time.sleep(FREEZE_SECONDS / 2)  # Lambda may leave a process idle as well as freeze it
    process.send_signal(signal.SIGSTOP)
    time.sleep(FREEZE_SECONDS / 2)
    turn = api.invoke({"do": "about"}, seconds=30)
    process.send_signal(signal.SIGCONT)
    after = json.loads(turn.wait().body)
    assert after["pid"] == before["pid"]
    assert 20_000 < after["remaining"] <= 30_000  # counted from the deadline, not by a clock


@pytest.mark.parametrize("after_next", ["close", "drop"])
def test_a_connection_that_did_not_live_through_the_freeze(
    start: Start, after_next: AfterNext
) -> None:
    api = RuntimeApiServer(after_next=after_next)
    start(api)
    for _ in range(2):
        assert api.invoke({"do": "as_json"}).wait().complete
    api.close()


def test_a_handler_that_leaves_is_reported_and_ends_the_process(
    api: RuntimeApiServer, start: Start
) -> None:
    process = start(api)
    failed = api.invoke({"do": "leave"}).wait()
    assert failed.error_type == "Runtime.ExitError"
    process.communicate(timeout=10)
    assert process.returncode == 3


def test_the_process_ends_when_the_runtime_api_is_gone(api: RuntimeApiServer, start: Start) -> None:
    process = start(api)
    api.wait_until_asked()
    api.close()
    _, stderr = process.communicate(timeout=10)
    assert process.returncode == 1
    assert "The Runtime API is gone." in stderr


@pytest.mark.parametrize(
    ("source", "name", "kind", "message"),
    [
        ("import nowhere_to_be_found", "handler.handler", "ImportModuleError", "nowhere"),
        ("def handler(:", "handler.handler", "UserCodeSyntaxError", "handler.py"),
        ("raise ValueError('ALGOLIA_APP_ID is missing')", "handler.handler", "Unknown", "ALGOLIA"),
        ("handler = None", "handler.handler", "HandlerNotFound", "'handler'"),
        ("", "handler", "MalformedHandlerName", "'handler'"),
    ],
)
def test_a_handler_that_cannot_be_loaded_is_an_init_error(
    api: RuntimeApiServer,
    start: Start,
    tmp_path: Path,
    source: str,
    name: str,
    kind: str,
    message: str,
) -> None:
    (tmp_path / "handler.py").write_text(source)
    process = start(api, tmp_path, _HANDLER=name)
    process.communicate(timeout=10)
    assert process.returncode == 1
    assert api.init_error_type == f"Runtime.{kind}"
    assert api.init_error is not None
    assert message in api.init_error["errorMessage"]
