"""The calls to Gemini: what is sent, and what its answers say."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import cast

import httpx2
from google import genai
from google.genai import types

from plumbline.adapters.gemini_deadline import AnswerHooks, CallDeadline
from plumbline.adapters.gemini_failures import UNAVAILABLE, mapped_errors
from plumbline.errors import GenerationBlocked, ModelError, ModelUnavailable
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    FinishReason,
    GenerationRequest,
    Message,
    TextDelta,
    Usage,
)
from plumbline.turn.prompts import split_sources

BLOCKED = "The model's safety rules stopped the answer; ask it in another way."
MAX_ANSWER_TOKENS = 8_192
MAX_EXTRACTION_TOKENS = 2_048
# Grounded answers need little thought, and thought delays the first word. The extractor's model
# thinks least by default, and the answering one takes no "minimal".
ANSWER_THINKING = types.ThinkingLevel.LOW
# What may follow the finish reason: the end of the stream, which frees the connection.
_TAIL_SECONDS = 1.0

_BLOCKED = frozenset(
    ["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"]
).union(["PUP_LIMITED_DISABLED", "MODEL_ARMOR", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"])

_Chunks = Generator[types.GenerateContentResponse, None, None]


def finish_reason(vendor: str) -> FinishReason:
    """Gemini's finish reason as ours; one that says neither done nor why is ``missing``."""
    if vendor == "STOP":
        return "stop"
    if vendor in ("MAX_TOKENS", "CONTINUATION"):
        return "length"
    if vendor in _BLOCKED:
        return "blocked"
    return "missing"


class GeminiCalls:
    """One client, and its two calls; neither retries. Raises ``ModelError``'s children."""

    def __init__(
        self,
        api_key: str,
        *,
        answer_model: str,
        extract_model: str,
        api_version: str,
        base_url: str,
        read_timeout: float,
        extract_timeout: float,
        connect_timeout: float,
    ) -> None:
        self._answer_model, self._extract_model = answer_model, extract_model
        self._read_timeout, self._extract_timeout = read_timeout, extract_timeout
        self._hooks = AnswerHooks(connect_timeout)
        # A client of our own: the SDK's follows redirects, and takes the key along.
        # One TLS context for it and for the clients that the SDK makes beside it: reading the
        # certificates four times is 60 ms of the first answer.
        tls = httpx2.create_ssl_context()
        transport = httpx2.Client(
            event_hooks=self._hooks.event_hooks(), follow_redirects=False, verify=tls
        )
        # Kept connections are closed with the client, at the latest when the process ends.
        weakref.finalize(self, transport.close)
        self._client = genai.Client(
            api_key=api_key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=base_url,
                api_version=api_version,
                httpx_client=transport,
                async_client_args={"verify": tls, "ssl": tls},
            ),
        )

    def extract(self, request: ExtractionRequest) -> Extraction:
        """One JSON text in the form of the request's schema, unvalidated."""
        call = CallDeadline(request.deadline)
        config = self._config(request.system_prompt, call, self._extract_timeout)
        config.max_output_tokens = MAX_EXTRACTION_TOKENS
        config.response_mime_type = "application/json"
        config.response_json_schema = dict(request.schema)
        contents = _contents(request.history, [request.query])
        with call.watched(), mapped_errors(call), self._hooks.sending(call):
            call.check()
            answer = self._client.models.generate_content(
                model=self._extract_model, contents=contents, config=config
            )
        reading = _Reading()
        text = reading.take(answer)
        if reading.reason == "blocked":
            raise GenerationBlocked(BLOCKED)
        if not text or reading.reason == "missing":
            raise ModelUnavailable(UNAVAILABLE)
        return Extraction(text, reading.usage())

    def stream(
        self, request: GenerationRequest, first_by: float
    ) -> Generator[TextDelta | Finish, None, None]:
        """The answer, then its ``Finish``. The first piece comes by ``first_by`` or not at all."""
        call, reading = CallDeadline(first_by), _Reading()
        instructions, sources = split_sources(request.system_prompt)
        config = self._config(instructions, call, self._read_timeout, until=request.deadline)
        config.max_output_tokens = MAX_ANSWER_TOKENS
        config.thinking_config = types.ThinkingConfig(thinking_level=ANSWER_THINKING)
        contents = _contents(request.history, [sources, request.query])
        with call.watched(), closing(self._open(contents, config, call)) as chunks:
            while (chunk := self._next(chunks, call, reading)) is not None:
                text = reading.take(chunk)
                if text:
                    call.started = True
                    call.move(request.deadline)
                    yield TextDelta(text)
                if reading.finished:
                    call.move(min(request.deadline, time.monotonic() + _TAIL_SECONDS))
        if not call.started and reading.reason == "blocked":
            raise GenerationBlocked(BLOCKED)
        if not call.started:
            raise ModelUnavailable(UNAVAILABLE)
        yield Finish(reading.reason, reading.usage(), reading.detail)

    def _open(
        self,
        contents: types.ContentListUnion,
        config: types.GenerateContentConfig,
        call: CallDeadline,
    ) -> _Chunks:
        """The stream; nothing is sent before its first chunk is asked for."""
        with mapped_errors(call):
            chunks = self._client.models.generate_content_stream(
                model=self._answer_model, contents=contents, config=config
            )
        # A generator, typed as an iterator: closing it closes the connection at once.
        return cast("_Chunks", chunks)

    def _next(
        self, chunks: _Chunks, call: CallDeadline, reading: _Reading
    ) -> types.GenerateContentResponse | None:
        """The next chunk, or None at the end. What fails after the finish reason is no failure."""
        try:
            with mapped_errors(call), self._hooks.sending(call):
                call.check()
                return next(chunks, None)
        except ModelError:
            if reading.finished:
                return None
            raise

    def _config(
        self, instructions: str, call: CallDeadline, silence: float, *, until: float | None = None
    ) -> types.GenerateContentConfig:
        """What both calls have in common: no sampling, no tools, a timeout for each read.

        ``until`` is when the server may give up, where that is not the call's own end.
        """
        left = call.remaining if until is None else max(0.0, until - time.monotonic())
        return types.GenerateContentConfig(
            system_instruction=_encodable(instructions),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(
                timeout=max(1, math.ceil(min(silence, call.remaining) * 1000)),
                # The SDK would tell the server the silence, as if it were the whole answer's time.
                headers={"X-Server-Timeout": str(max(1, math.ceil(left)))},
            ),
        )


class _Reading:
    """What the chunks of one answer have said so far."""

    def __init__(self) -> None:
        self.reason: FinishReason = "missing"
        self.detail = ""
        self.finished = False
        self._counts = [0, 0, 0]

    def take(self, chunk: types.GenerateContentResponse) -> str:
        """Take in a chunk; its text, without the model's thoughts."""
        self._count(chunk.usage_metadata)
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason:
            self._finish("blocked", f"prompt: {_name(feedback.block_reason)}")
        if not chunk.candidates:
            return ""
        candidate = chunk.candidates[0]
        if candidate.finish_reason:
            name = _name(candidate.finish_reason)
            self._finish(finish_reason(name), name)
        parts = (candidate.content.parts if candidate.content else None) or ()
        return "".join(part.text for part in parts if part.text and not part.thought)

    def usage(self) -> Usage:
        """The last counts that were given; they are totals."""
        return Usage(*self._counts)

    def _finish(self, reason: FinishReason, detail: str) -> None:
        self.reason, self.detail, self.finished = reason, detail, True

    def _count(self, usage: types.GenerateContentResponseUsageMetadata | None) -> None:
        if usage is None:
            return
        given = (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count)
        self._counts = [
            old if new is None else new for old, new in zip(self._counts, given, strict=True)
        ]


def _contents(history: Sequence[Message], last: Sequence[str]) -> list[types.ContentUnion]:
    """The conversation, the two sides in turn, beginning and ending with the reader's."""
    contents: list[types.Content] = []
    spoken = [("user" if m.role == "user" else "model", [m.content]) for m in history]
    for role, texts in [*spoken, ("user", list(last))]:
        parts = [types.Part(text=_encodable(text)) for text in texts if text.strip()]
        if not parts or (role == "model" and not contents):
            continue
        if contents and contents[-1].role == role:
            contents[-1].parts = [*(contents[-1].parts or ()), *parts]
        else:
            contents.append(types.Content(role=role, parts=parts))
    return list(contents)


def _encodable(text: str) -> str:
    """Without the half characters that JSON can bring in and UTF-8 cannot take out."""
    return text.encode("utf-8", "replace").decode()


def _name(value: object) -> str:
    return str(getattr(value, "value", value))
