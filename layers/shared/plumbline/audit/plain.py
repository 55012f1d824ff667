"""Plain text of what a model writes outside the answer: no link, no markup (design, decision 9)."""

from __future__ import annotations

import html
import re

from plumbline.audit.bare_addresses import emails, explicit_addresses, fuzzy_hosts

_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_HIDDEN = re.compile(
    r"<(script|style|iframe|svg|template|noscript|title|textarea)\b.*?</\1\s*>|<!--.*?-->",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_AUTOLINK = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])")
_DEFINITION = re.compile(r"^[ \t]*\[[^\[\]]+\]:.*$", re.MULTILINE)
_SCHEME = re.compile(r"\b(?:javascript|vbscript|data|file|blob|mailto|ftp):\S*", re.IGNORECASE)
_LINE_MARK = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+|[-=*_]{3,}[ \t]*$)", re.MULTILINE
)
_EMPHASIS = re.compile(r"\*+|`+|~~+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
# Hosts that nobody takes for a file: what linkify would link of the rest is a name of code.
_HOST = re.compile(
    r"\.(?:com|net|org|io|dev|info|biz|app|xyz|co|edu|gov|ru|cn|top|site|online)\b|[/:?]",
    re.IGNORECASE,
)
MAX_ROUNDS = 8


def plain_text(text: str, limit: int = 500) -> str:
    """The text on one line without links, addresses, HTML or Markdown, at most ``limit`` long.

    Labels, alternative texts and code stay as words. Source: design, decision 9.
    """
    current = text[: 20 * limit + 1000]
    for _ in range(MAX_ROUNDS):
        plainer = _plainer(current)
        if plainer == current:
            break
        current = plainer
    else:
        # What keeps turning into markup has its means taken away.
        current = re.sub(r"[\[\]<>&*_`~\\]", "", current)
    if len(current) <= limit:
        return current
    cut = current[: max(0, limit - 1)]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:") + "…"


def _plainer(text: str) -> str:
    text = _CONTROL.sub("", html.unescape(text))
    text = _HIDDEN.sub(" ", text)
    text = _AUTOLINK.sub(" ", text)
    text = _TAG.sub("", text)
    text = _DEFINITION.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _LINE_MARK.sub("", text)
    text = _EMPHASIS.sub("", text)
    text = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    text = text.replace("](", "] (").replace("][", "] [").replace("]:", "] :")
    text = _without(text, [*explicit_addresses(text), *emails(text)])
    text = _SCHEME.sub("", text)
    for raw in set(fuzzy_hosts(text, lambda url: False)):
        if _HOST.search(raw):
            text = text.replace(raw, "")
    return " ".join(text.split())


def _without(text: str, ranges: list[tuple[int, int]]) -> str:
    for start, end in sorted(ranges, reverse=True):
        text = text[:start] + text[end:]
    return text
