"""The commands' HTTP client: every answer that is none is one clear line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from devstack.client import Client, parse_events
from devstack.failure import CommandError
from devstack.function_urls import FunctionUrls
from plumbline.http import Response

EVENTS = {"content-type": "text/event-stream"}


def answer(event: dict[str, Any], context: object) -> Any:
    match event["rawPath"]:
        case "/moved/gaps":
            return {"statusCode": 307, "headers": {"location": "http://127.0.0.1:1/"}}
        case "/other/gaps":
            return {"statusCode": 200, "body": "{}"}
        case "/list/gaps":
            return {"statusCode": 200, "body": "[]"}
        case "/page/gaps":
            return {"statusCode": 200, "body": "<html>"}
        case "/busy/gaps":
            body = '{"error": {"message": "Too many requests."}}'
            return {"statusCode": 429, "headers": {"retry-after": "7"}, "body": body}
        case "/malformed/":
            return Response(200, EVENTS, iter([b"data: {\n\n"]))
        case "/array/":
            return Response(200, EVENTS, iter([b"data: []\n\n"]))
        case "/bytes/":
            return Response(200, EVENTS, iter([b"data: \xff\n\n"]))
        case "/short/":
            return Response(200, EVENTS, iter([b"event: pulse\ndata: {}\n\n"]))
    return {"statusCode": 404, "body": "no"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    served = FunctionUrls({"": ("f", answer)})
    served.start()
    yield served.url
    served.stop()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("moved", "answered with a redirect"),
        ("other", "is it a Plumbline bundle"),
        ("list", "something else than an object"),
        ("page", "did not answer with JSON"),
        ("busy", r"Too many requests\. Try again in 7 s\."),
        ("none", "status 404"),
    ],
)
def test_an_answer_that_is_none(url: str, path: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        Client(f"{url}/{path}", "k").gaps(5)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("malformed", "cannot be read"),
        ("array", "cannot be read"),
        ("bytes", "cannot be read"),
        ("short", "without a final event"),
    ],
)
def test_a_stream_that_is_none(url: str, path: str, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        list(Client(f"{url}/{path}", "k").ask({"query": "x"}))


@pytest.mark.parametrize("address", ["foo", "ftp://x/y", "http://", "http://[::1", "localhost:80"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(CommandError, match=r"is not an http or https address\."):
        Client(address, "k").gaps(5)


@pytest.mark.parametrize("key", ["ké", "a\nb", "\udcff"])
def test_a_key_that_no_header_can_carry(key: str) -> None:
    with pytest.raises(CommandError, match="plain ASCII"):
        Client("http://127.0.0.1:1", key)


def test_no_proxy_is_asked_for_this_machine(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(CommandError, match="status 404"):
        Client(f"{url}/none", "k").gaps(5)


def test_events_are_read_with_comments_between() -> None:
    lines = [b": hello", b"id: t:0", b"event: pulse", b'data: {"a": 1}', b"", b""]
    (event,) = parse_events(lines)
    assert (event.id, event.event, event.data) == ("t:0", "pulse", {"a": 1})
