"""HTTP to a running stack or a deployed bundle, for the commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import requests

from devstack.failure import CommandError

CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """One server-sent event, its data decoded."""

    id: str
    event: str
    data: dict[str, Any]


class Client:
    """Asks one bundle. Every failure is a ``CommandError`` that says what to do."""

    def __init__(self, url: str, api_key: str, *, suggestions_url: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._suggestions_url = (suggestions_url or f"{self._url}/suggestions").rstrip("/")
        self._session = requests.Session()
        self._session.headers.update({"x-api-key": api_key})

    def ask(self, body: Mapping[str, Any]) -> Iterator[StreamedEvent]:
        """One turn, event by event as they arrive; closes with the terminal event."""
        answer = self._send("POST", f"{self._url}/", json=body, stream=True)
        with answer:
            if not answer.headers.get("content-type", "").startswith("text/event-stream"):
                raise CommandError(f"{self._url} did not answer with an event stream.")
            ended = False
            try:
                for event in parse_events(answer.iter_lines()):
                    yield event
                    ended = event.event in ("final", "error")
            except requests.RequestException as exc:
                raise CommandError("The connection was lost in the middle of the answer.") from exc
            if not ended:
                raise CommandError("The answer ended without a final event; ask again.")

    def search_code(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """``POST /search_code``."""
        return self._json("POST", f"{self._url}/search_code", json=body)

    def suggest(self, query: str, limit: int) -> list[str]:
        """The suggestions for what has been typed."""
        answer = self._json("GET", f"{self._suggestions_url}/", params={"q": query, "limit": limit})
        return [str(name) for name in answer.get("suggestions", ())]

    def repositories(self) -> list[dict[str, Any]]:
        """``GET /repositories``."""
        found: list[dict[str, Any]] = self._json("GET", f"{self._url}/repositories")["repositories"]
        return found

    def index(self, repository_url: str, ref: str | None, *, force: bool = False) -> None:
        """``POST /index``: ask for a repository to be indexed from its address."""
        body = {"repository_url": repository_url, "ref": ref, "force": force}
        self._json("POST", f"{self._url}/index", json={k: v for k, v in body.items() if v})

    def gaps(self, limit: int) -> list[dict[str, Any]]:
        """``GET /gaps``: the newest coverage gaps."""
        found: list[dict[str, Any]] = self._json(
            "GET", f"{self._url}/gaps", params={"limit": limit}
        )["gaps"]
        return found

    def _json(self, method: str, url: str, **kwargs: Any) -> dict[str, Any]:
        answer = self._send(method, url, **kwargs)
        try:
            value = answer.json()
        except ValueError as exc:
            raise CommandError(f"{url} did not answer with JSON.") from exc
        if not isinstance(value, dict):
            raise CommandError(f"{url} answered with something else than an object.")
        return value

    def _send(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        try:
            answer = self._session.request(
                method, url, timeout=(CONNECT_SECONDS, SILENCE_SECONDS), **kwargs
            )
        except requests.RequestException as exc:
            raise CommandError(
                f"Nothing answers at {self._url}. Start the stack with `make dev`, or give the"
                " address of a deployed one with --url."
            ) from exc
        if answer.status_code >= 400:
            raise CommandError(_refusal(answer))
        return answer


def parse_events(lines: Iterable[bytes]) -> Iterator[StreamedEvent]:
    """Server-sent events out of their lines; comments are passed over."""
    fields: dict[str, str] = {}
    for raw in lines:
        line = raw.decode("utf-8")
        if not line:
            if "data" in fields:
                yield StreamedEvent(
                    fields.get("id", ""), fields.get("event", "message"), json.loads(fields["data"])
                )
            fields = {}
            continue
        name, _, value = line.partition(":")
        if name:
            fields[name] = value.removeprefix(" ")


def _refusal(answer: requests.Response) -> str:
    try:
        error = answer.json()["error"]
        text = str(error["message"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered with status {answer.status_code}."
    wait = answer.headers.get("retry-after")
    return f"{text} Try again in {wait} s." if wait else text
