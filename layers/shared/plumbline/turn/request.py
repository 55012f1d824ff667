"""The body of ``POST /``, validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from plumbline.errors import InvalidRequest
from plumbline.turn.language_model import Message

MAX_QUERY_CHARS = 2000
HISTORY_KEPT = 20
MAX_MESSAGE_CHARS = 8000


class HistoryMessage(BaseModel):
    """One message of the conversation so far; ``ai`` and ``model`` are the assistant too."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["user", "assistant"]
    content: str

    @field_validator("role", mode="before")
    @classmethod
    def _known_role(cls, value: object) -> object:
        return "assistant" if value in ("ai", "model") else value

    @field_validator("content", mode="after")
    @classmethod
    def _bounded(cls, value: str) -> str:
        return value[:MAX_MESSAGE_CHARS]


class TurnRequest(BaseModel):
    """What a reader sends. Source: design, "HTTP"."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    query: str = Field(default="", max_length=MAX_QUERY_CHARS)
    session_id: str | None = None
    history: tuple[HistoryMessage, ...] | None = None
    persona: str | None = None
    trigger: Literal["handshake", "execute"] | None = None
    consent: bool | None = None
    deny: tuple[str, ...] = ()
    repository: str | None = Field(default=None, max_length=500)
    language: str | None = Field(default=None, max_length=50)
    debug: bool = False

    @field_validator("session_id", mode="before")
    @classmethod
    def _any_session(cls, value: object) -> object:
        # A malformed id gets a new session, never an error.
        return value if isinstance(value, str) else None

    @field_validator("history", mode="before")
    @classmethod
    def _newest(cls, value: object) -> object:
        return value[-HISTORY_KEPT:] if isinstance(value, list) else value

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as messages, oldest first."""
        return tuple(Message(m.role, m.content) for m in self.history or () if m.content.strip())


def decode_turn(body: Mapping[str, Any]) -> TurnRequest:
    """A body as a TurnRequest; ``InvalidRequest`` names the field and what it should be."""
    try:
        request = TurnRequest.model_validate(body)
    except ValidationError as exc:
        raise InvalidRequest(_sentence(exc)) from exc
    without_words = request.consent is not None or request.trigger is not None or request.deny
    if not request.query.strip() and not without_words:
        raise InvalidRequest(f"query must be 1 to {MAX_QUERY_CHARS} characters.")
    return request


def _sentence(exc: ValidationError) -> str:
    error = exc.errors()[0]
    name = ".".join(str(part) for part in error["loc"]) or "The body"
    if name == "query":
        kind = "text of " if error["type"] == "string_type" else ""
        return f"query must be {kind}1 to {MAX_QUERY_CHARS} characters."
    message = str(error["msg"])
    return f"{name}: {message[:1].lower()}{message[1:]}."
