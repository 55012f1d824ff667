"""HTTP to a running stack or a deployed bundle, for the commands."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

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
        if not (api_key.isascii() and api_key.isprintable()):
            raise CommandError("An API key is made of plain ASCII characters.")
        self._session.headers.update({"x-api-key": api_key})
        try:
            host = urlsplit(self._url).hostname
        except ValueError as exc:
            raise CommandError(f"{self._url} is not an http or https address.") from exc
        if host in ("127.0.0.1", "localhost", "::1"):
            # No proxy leads to this machine.
            self._session.trust_env = False

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
            except (ValueError, TypeError) as exc:
                raise CommandError(f"{self._url} sent events that cannot be read.") from exc
            if not ended:
                raise CommandError("The answer ended without a final event; ask again.")

    def search_code(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """``POST /search_code``."""
        return self._json("POST", f"{self._url}/search_code", json=body)

    def suggest(self, query: str, limit: int) -> list[str]:
        """The suggestions for what has been typed."""
        url = f"{self._suggestions_url}/"
        found = self._list("suggestions", url, params={"q": query, "limit": limit})
        return [str(name) for name in found]

    def repositories(self) -> list[dict[str, Any]]:
        """``GET /repositories``."""
        return self._list("repositories", f"{self._url}/repositories")

    def index(self, repository_url: str, ref: str | None, *, force: bool = False) -> None:
        """``POST /index``: ask for a repository to be indexed from its address."""
        body = {"repository_url": repository_url, "ref": ref, "force": force}
        self._json("POST", f"{self._url}/index", json={k: v for k, v in body.items() if v})

    def gaps(self, limit: int) -> list[dict[str, Any]]:
        """``GET /gaps``: the newest coverage gaps."""
        return self._list("gaps", f"{self._url}/gaps", params={"limit": limit})

    def _list(self, name: str, url: str, **kwargs: Any) -> list[Any]:
        found = self._json("GET", url, **kwargs).get(name)
        if not isinstance(found, list):
            raise CommandError(f"{url} did not answer with {name}: is it a Plumbline bundle?")
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
                method,
                url,
                timeout=(CONNECT_SECONDS, SILENCE_SECONDS),
                # The key is for this address alone.
                allow_redirects=False,
                **kwargs,
            )
        except ValueError as exc:
            # requests' own errors for an address that is none.
            raise CommandError(f"{self._url} is not an http or https address.") from exc
        except requests.ReadTimeout as exc:
            raise CommandError(f"{self._url} said nothing for {SILENCE_SECONDS:.0f} s.") from exc
        except requests.RequestException as exc:
            raise CommandError(
                f"Nothing answers at {self._url}. Start the stack with `make dev`, or give the"
                " address of a deployed one with --url."
            ) from exc
        if answer.is_redirect:
            raise CommandError(
                f"{url} answered with a redirect; give the address that answers itself."
            )
        if answer.status_code >= 400:
            raise CommandError(_refusal(answer))
        return answer


def parse_events(lines: Iterable[bytes]) -> Iterator[StreamedEvent]:
    """Server-sent events out of their lines; comments are passed over. ValueError if malformed."""
    fields: dict[str, str] = {}
    for raw in lines:
        line = raw.decode("utf-8")
        if not line:
            if "data" in fields:
                data = json.loads(fields["data"])
                if not isinstance(data, dict):
                    raise ValueError("an event's data is no object")
                yield StreamedEvent(fields.get("id", ""), fields.get("event", "message"), data)
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
