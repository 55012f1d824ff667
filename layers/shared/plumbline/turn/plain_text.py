"""Plain text out of what a model wrote outside the answer: no link, no markup, bounded.

Source: design, decision 9.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 500

_LABELLED = re.compile(
    r"!?\[([^\[\]]*)\]\s*(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*[^()]*\)|\[[^\]]*\])"
)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}:(?://|\\\\)|//|www\.|mailto:|javascript:|data:)\S*", re.I
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
# A bare host is turned into a link by renderers that look for them; without its dots it is not.
_HOST = re.compile(r"(?<![\w.])(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}(?![\w.])(?:[:/?#]\S*)?")
_MARKUP = re.compile(r"[<>\[\]`*|\\~^]|(?<!\w)_+|_+(?!\w)|(?:^|(?<=\s))#{1,6}\s")


def plain_text(text: str, limit: int = MAX_CHARS) -> str:
    """``text`` on one line, at most ``limit`` characters, cut at a word.

    Addresses go, a link leaves its label, a bare host loses its dots, control and invisible
    characters go.
    """
    # Bounded before the patterns run: what a model writes here may be of any size.
    text = unicodedata.normalize("NFKC", text[: limit * 8])
    text = "".join(" " if c.isspace() else c for c in text if c.isspace() or c.isprintable())
    for _ in range(3):
        text = _LABELLED.sub(r"\1", text)
    text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(" ", text)
    text = _EMAIL.sub(" ", text)
    text = _HOST.sub(_without_dots, text)
    text = _MARKUP.sub("", text)
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut.rpartition(" ")[0] or cut) + "…"


def _without_dots(match: re.Match[str]) -> str:
    host, _, rest = match.group().partition("/")
    if rest or ":" in host or "?" in host or "#" in host:
        return " "
    return host.replace(".", " ")
