"""Text for the person at the terminal, whoever wrote it."""

from __future__ import annotations

import contextlib
import re
import sys

# Control characters but for tab and newline, and the marks that turn the writing direction: a
# repository's text must not move the cursor, colour the screen or show another order than its own.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: object) -> str:
    """The text with a replacement character for each that would steer the terminal."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def say(text: str) -> None:
    """A line on standard error. Nothing happens when the terminal has gone."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)
