"""Plain text out of what a model wrote outside the answer: no link, no markup, bounded.

Source: design, decision 9.
"""

from __future__ import annotations

import re
import unicodedata

MAX_CHARS = 500
_ROUNDS = 6

_LABELLED = re.compile(
    r"!?\[([^\[\]]*)\]\s*(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*[^()]*\)|\[[^\]]*\])"
)
_TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")
_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}:(?://|\\\\)|//|www\.|mailto:|javascript:|data:)\S*", re.I
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
# A bare host is turned into a link by renderers that look for them; without its dots it is not.
_PAGE = re.compile(r"(?<![\w.])(?:[\w-]{1,63}\.)+[^\W\d_]{2,24}[:/?#]\S*")
_DOT = re.compile(r"(?<=[\w-])\.(?=[^\W\d_])")
_MARKUP = re.compile(r"[<>\[\]`*|\\~^]|(?<!\w)_+|_+(?!\w)|(?:^|(?<=\s))#{1,6}(?:\s|$)")


def plain_text(text: str, limit: int = MAX_CHARS) -> str:
    """``text`` on one line, at most ``limit`` characters, cut at a word.

    Addresses go, a link leaves its label, a bare host loses its dots, control and invisible
    characters go.
    """
    # Bounded before the patterns run: what a model writes here may be of any size.
    text = unicodedata.normalize("NFKC", text[: limit * 8])
    text = "".join(" " if c.isspace() else c for c in text if c.isspace() or c.isprintable())
    # What is taken away can bring markup together ("ht*tps://"), so it is taken until it stays.
    for _ in range(_ROUNDS):
        before, text = text, _without_markup(text)
        if text == before:
            break
    else:
        text = " ".join(re.sub(r"[^\w\s]", " ", text).split())
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    if text[limit - 1] == " ":
        return cut + "…"
    return (cut.rpartition(" ")[0] or cut) + "…"


def _without_markup(text: str) -> str:
    text = _LABELLED.sub(r"\1", text)
    text = _TAG.sub(" ", text)
    text = _ADDRESS.sub(" ", text)
    text = _EMAIL.sub(" ", text)
    text = _PAGE.sub(" ", text)
    text = _DOT.sub(" ", text)
    text = _MARKUP.sub("", text)
    return " ".join(text.split())
