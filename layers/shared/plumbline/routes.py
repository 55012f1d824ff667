"""The search function's routes: which request goes where, and what it needs to be let in."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from plumbline.errors import (
    ConfigurationError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    PlumblineError,
)
from plumbline.gate import SESSION_HEADER, Admission, Gate
from plumbline.http import (
    SECURITY_HEADERS,
    Request,
    Response,
    cors_headers,
    decode,
    error_response,
    internal_error,
    json_response,
    origin_of,
    stream_response,
)
from plumbline.observability import cause_of, flush, logger
from plumbline.turn.events import Event
from plumbline.turn.persistence import TurnStore
from plumbline.turn.request import TurnRequest, decode_turn
from plumbline.turn.stream import stream_events

if TYPE_CHECKING:
    from plumbline.lookups import Lookups

UPSTREAMS = ("algolia", "gemini")
MAX_GAPS = 500
# A running turn is marked somewhat longer than it may take.
_MARK_SECONDS = 60
_TURN_ID = re.compile(r"[0-9a-f]{32}")

_Model = TypeVar("_Model", bound=BaseModel)
Ignite = Callable[[str, str, TurnRequest, Admission], Iterator[Event]]


def _no_truth_value(value: object) -> object:
    # True is 1 to Python, and no vote.
    return None if isinstance(value, bool) else value


class Feedback(BaseModel):
    """The body of ``POST /feedback``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    turn_id: str = Field(pattern=_TURN_ID.pattern)
    vote: Annotated[Literal[1, -1], BeforeValidator(_no_truth_value)]
    tags: tuple[str, ...] = Field(default=(), max_length=10)
    note: str = Field(default="", max_length=1000)


class IndexBody(BaseModel):
    """The body of ``POST /index``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository_url: str = Field(min_length=1, max_length=2000)
    ref: str | None = Field(default=None, max_length=200)
    force: bool = False


@dataclass(frozen=True, slots=True)
class SearchFunction:
    """Everything that the search function answers. ``ignite`` and ``lookups`` load their vendors
    when they are first called: after ``pulse``.
    """

    gate: Gate
    store: TurnStore
    ignite: Ignite
    lookups: Callable[[], Lookups]
    page: Callable[[str], Response | None]
    allowed_origins: tuple[str, ...]
    turn_seconds: float

    def respond(self, event: Mapping[str, Any]) -> Response:
        """Answer one function URL event; raises nothing."""
        origin = origin_of(event)
        try:
            response = self._route(decode(event))
        except ConfigurationError as error:
            logger.error("deployment is at fault", problem=error.message)
            response = internal_error()
        except PlumblineError as error:
            if error.status >= 500:
                logger.warning("refused", code=error.code, cause=cause_of(error))
            response = error_response(error)
        except Exception:
            logger.exception("the search function broke")
            response = internal_error()
        flush()
        return response.with_headers(cors_headers(origin, self.allowed_origins))

    def _route(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(204, SECURITY_HEADERS)
        first, _, rest = request.path.strip("/").partition("/")
        routes: dict[str, dict[str, Callable[[Request, str], Response]]] = {
            "": {"POST": self._turn, "GET": self._page},
            "search_code": {"POST": self._search_code},
            "mcp": dict.fromkeys(("POST", "GET", "DELETE"), self._mcp),
            "feedback": {"POST": self._feedback},
            "index": {"POST": self._index},
            "repositories": {"GET": self._repositories},
            "turns": {"GET": self._stored_turn},
            "gaps": {"GET": self._gaps},
            "health": {"GET": self._health},
            "sessions": {"DELETE": self._delete_session},
        }
        methods = routes.get(first)
        takes_rest = first in ("turns", "sessions")
        if methods is None or bool(rest) != takes_rest:
            return self._page(request, request.path)
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            refusal = MethodNotAllowed(f"/{first} takes {' or '.join(methods)}.")
            return error_response(refusal).with_headers({"allow": ", ".join(methods)})
        response = methods[method](request, rest)
        return response if method == request.method else replace(response, body=b"")

    def _turn(self, request: Request, _: str) -> Response:
        # The key comes first: nobody learns of the body's form without one.
        self.gate.identify(request, "turn")
        body = decode_turn(request.json())
        turn_id = secrets.token_hex(16)
        admission = self.gate.admit(
            request,
            "turn",
            session_id=body.session_id or request.headers.get(SESSION_HEADER),
            upstreams=UPSTREAMS,
            turn_id=turn_id,
            turn_seconds=int(self.turn_seconds) + _MARK_SECONDS,
        )
        chunks = stream_events(
            turn_id, lambda: self.ignite(turn_id, request.request_id, body, admission)
        )
        return stream_response(chunks, {SESSION_HEADER: admission.session_id})

    def _search_code(self, request: Request, _: str) -> Response:
        self.gate.identify(request, "search")
        body = request.json()
        # The breaker is the turns': a look-up reports no outcome, so it must take no probe's place.
        self.gate.admit(request, "search")
        return json_response(200, self.lookups().search_code(body))

    def _mcp(self, request: Request, _: str) -> Response:
        caller = self.gate.identify(request, "search")
        self.gate.admit(request, "search")
        may_ask = "turn" in caller.scopes
        return self.lookups().mcp(request, may_ask, lambda: self._admit_question(request))

    def _admit_question(self, request: Request) -> Admission:
        """MCP's ``ask`` is a turn, and counts as one."""
        return self.gate.admit(request, "turn", upstreams=UPSTREAMS)

    def _feedback(self, request: Request, _: str) -> Response:
        self.gate.identify(request, "turn")
        feedback = _validated(Feedback, request.json())
        self.gate.admit(request, "turn", bucket="session")
        self._owned_turn(request, feedback.turn_id)
        if not self.store.add_feedback(feedback.turn_id, feedback.model_dump_json()):
            raise InvalidRequest("This turn has feedback already.")
        return json_response(200, {"stored": True})

    def _index(self, request: Request, _: str) -> Response:
        self.gate.identify(request, "index")
        body = _validated(IndexBody, request.json())
        self.gate.admit(request, "index")
        self.lookups().request_index(body.repository_url, body.ref, body.force)
        return json_response(202, {"accepted": True})

    def _repositories(self, request: Request, _: str) -> Response:
        self.gate.admit(request, "search")
        repositories = [asdict(repository) for repository in self.lookups().repositories()]
        return json_response(200, {"repositories": repositories})

    def _stored_turn(self, request: Request, turn_id: str) -> Response:
        # Polling a turn must not use up the right to ask.
        self.gate.admit(request, "turn", bucket="session")
        final = self._owned_turn(request, turn_id)
        if final is None:
            return json_response(202, {"status": "running"}, {"retry-after": "1"})
        return Response(200, json_response(200, {}).headers, final.encode())

    def _owned_turn(self, request: Request, turn_id: str) -> str | None:
        """The turn's final event as JSON, None while it runs; ``NotFound`` to anybody else."""
        stored = self.store.read_turn(turn_id) if _TURN_ID.fullmatch(turn_id) else None
        owner = request.headers.get(SESSION_HEADER)
        if stored is None or not owner or owner not in stored.owners:
            raise NotFound("There is no such turn in this session.")
        return stored.final

    def _gaps(self, request: Request, _: str) -> Response:
        self.gate.admit(request, "index")
        limit = request.query.get("limit", "50")
        if not (limit.isascii() and limit.isdecimal() and len(limit) < 5):
            raise InvalidRequest(f"limit must be 1 to {MAX_GAPS}.")
        if not 1 <= int(limit) <= MAX_GAPS:
            raise InvalidRequest(f"limit must be 1 to {MAX_GAPS}.")
        body = ",".join(self.store.read_gaps(int(limit)))
        return Response(200, json_response(200, {}).headers, f'{{"gaps":[{body}]}}'.encode())

    def _health(self, request: Request, _: str) -> Response:
        health = self.lookups().health()
        return json_response(200 if health["status"] == "ok" else 503, health)

    def _delete_session(self, request: Request, session_id: str) -> Response:
        self.gate.admit(request, "turn", bucket="session")
        # Who knows the id owns the session; an unknown one is gone already.
        self.store.delete_session(session_id)
        return Response(204, SECURITY_HEADERS)

    def _page(self, request: Request, path: str) -> Response:
        found = self.page(path.strip("/")) if request.method in ("GET", "HEAD") else None
        if found is None:
            raise NotFound("There is nothing to read at this address; POST / asks a question.")
        if request.headers.get("if-none-match") == found.headers.get("etag"):
            return Response(304, found.headers)
        return found if request.method == "GET" else replace(found, body=b"")


def _validated(model: type[_Model], body: Mapping[str, Any]) -> _Model:
    try:
        return model.model_validate(body)
    except ValidationError as exc:
        error = exc.errors()[0]
        name = ".".join(str(part) for part in error["loc"]) or "The body"
        message = str(error["msg"])
        raise InvalidRequest(f"{name}: {message[:1].lower()}{message[1:]}.") from exc
