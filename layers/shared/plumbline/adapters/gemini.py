"""Gemini behind ``LanguageModel``: deadlines, and retries before anything has been written.

The SDK is imported with the first call, in the thread that makes it: importing it takes half a
second, which then passes beside the search. Source: design, decision 16 and section 5.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from plumbline.errors import ModelUnavailable
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
)

if TYPE_CHECKING:
    from plumbline.adapters.gemini_calls import GeminiCalls

# Google's own address. Given even so, since the SDK would else look for one in the environment.
BASE_URL = "https://generativelanguage.googleapis.com/"
# What is left of a turn for the extractive answer, should the first words not come.
_RESERVE_SECONDS = 2.0
_RESERVE_SHARE = 0.2


class GeminiModel:
    """Implements ``LanguageModel`` with ``google-genai``; safe to share between threads.

    Timeouts are in seconds: ``read_timeout`` is the longest silence within an answer,
    ``extract_timeout`` the longest one of an extraction. ``attempts`` counts the first call.
    """

    def __init__(
        self,
        api_key: str,
        *,
        answer_model: str,
        extract_model: str,
        api_version: str,
        base_url: str | None = None,
        read_timeout: float = 20.0,
        extract_timeout: float = 5.0,
        connect_timeout: float = 3.0,
        attempts: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._api_key, self._api_version = api_key, api_version
        self._answer_model, self._extract_model = answer_model, extract_model
        self._base_url = base_url or BASE_URL
        self._timeouts = (read_timeout, extract_timeout, connect_timeout)
        self._attempts, self._sleep = attempts, sleep
        self._lock = threading.Lock()
        self._made: GeminiCalls | None = None

    @property
    def name(self) -> str:
        """How it is called in ``degraded`` and the log."""
        return "gemini"

    def extract(self, request: ExtractionRequest) -> Extraction:
        """One JSON text, unvalidated. Raises ``ModelUnavailable`` or ``GenerationBlocked``.

        A text that was cut off at the token limit is returned with its usage: an object that was
        cut is no JSON, so the caller's check refuses it. One without a finish reason is not.
        """
        retries = _Retries(self._attempts, request.deadline)
        while True:
            try:
                return self._calls().extract(request)
            except ModelUnavailable as exc:
                wait = retries.wait_after(exc)
                if wait is None:
                    raise
            self._sleep(wait)

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        """The answer piece by piece, then one ``Finish``; a stream without text raises.

        The first piece must come somewhat before the deadline, so that there is time to answer
        without a model. After it nothing is retried.
        """
        remaining = request.deadline - time.monotonic()
        first_by = request.deadline - min(_RESERVE_SECONDS, _RESERVE_SHARE * max(0.0, remaining))
        retries = _Retries(self._attempts, first_by)
        while True:
            try:
                with closing(self._calls().stream(request, first_by)) as items:
                    yield from items
                return
            except ModelUnavailable as exc:
                # Raised before the first piece only; after it the error is another.
                wait = retries.wait_after(exc)
                if wait is None:
                    raise
            self._sleep(wait)

    def _calls(self) -> GeminiCalls:
        with self._lock:
            if self._made is None:
                from plumbline.adapters.gemini_calls import GeminiCalls

                read, extract, connect = self._timeouts
                self._made = GeminiCalls(
                    self._api_key,
                    answer_model=self._answer_model,
                    extract_model=self._extract_model,
                    api_version=self._api_version,
                    base_url=self._base_url,
                    read_timeout=read,
                    extract_timeout=extract,
                    connect_timeout=connect,
                )
            return self._made


class _Retries:
    """What one request may still try, and when."""

    def __init__(self, attempts: int, until: float) -> None:
        self._left, self._until = attempts - 1, until
        self._reconnected = False

    def wait_after(self, failure: ModelUnavailable) -> float | None:
        """Seconds until the next attempt; None when there is none, or no time for it.

        A kept connection that the other side has dropped says nothing of the model: the first
        such failure is not counted, and not waited for.
        """
        from plumbline.adapters.gemini_failures import is_dropped_connection, retry_wait

        cause = failure.__cause__
        if is_dropped_connection(cause) and not self._reconnected:
            self._reconnected = True
            return 0.0 if time.monotonic() < self._until else None
        asked = retry_wait(cause)
        if asked is None or self._left <= 0:
            return None
        self._left -= 1
        wait = asked + random.uniform(0.0, 0.2)
        return wait if time.monotonic() + wait < self._until else None
