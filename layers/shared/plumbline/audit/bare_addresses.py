"""Addresses in running text that a renderer would turn into links by itself.

Three grammars are covered at once: GFM's (``http://``, ``www.``, e-mail), linkify's, which also
links ``//host.name`` and plain ``host.name``, and GFM's second look at decoded text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from linkify_it import LinkifyIt

MAX_WORD = 1024

_EXPLICIT_HINT = re.compile(r"(?:https?|ftp)://|www\.", re.IGNORECASE)
_SCHEMELESS = re.compile(r"(?<![:/\w])//(?=[^\s/?#<\x00]*\.[^\s<\x00])")
_ENCODED_RUN = re.compile(r"[^\s\x00<`|]*[&\\][^\s\x00<`|]*")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
# What may stand in an address that every renderer ends at the same place.
_PLAIN_URL = re.compile(r"[A-Za-z0-9\-._~:/?#@$&+,=%()]+\Z")
# After a host without a path anything else is, for one renderer or another, part of the host.
_AFTER_HOST = '.,)!?:;"'
_TRAILING = ".,)!?:;*_\"'"
_ENTITY = re.compile(r"&[A-Za-z0-9#]+;")
_ENTITY_END = re.compile(r"&[A-Za-z0-9]+;\Z")
_FUZZY_HINT = re.compile(r"\w\.[^\W\d_]{2}|//|@")

_LINKIFY = LinkifyIt()


def explicit_addresses(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of addresses with a scheme or ``www.``, trailing punctuation left out."""
    if not _EXPLICIT_HINT.search(text):
        return
    position = 0
    for hint in _EXPLICIT_HINT.finditer(text):
        if hint.start() < position:
            continue
        start = hint.start()
        while start > position and (text[start - 1].isalnum() or text[start - 1] in "+.-"):
            start -= 1
        end = hint.end()
        while end < len(text) and not text[end].isspace() and text[end] not in "<|\x00":
            end += 1
        position = max(_trimmed(text, hint.end(), end), hint.end())
        yield start, position


def _trimmed(text: str, low: int, end: int) -> int:
    """GFM's end of an address: no trailing punctuation, no parenthesis that nothing opened."""
    surplus = text.count(")", low, end) - text.count("(", low, end)
    while end > low:
        last = text[end - 1]
        if last in "?!.,:*_~'\"]":
            end -= 1
        elif last == ")" and surplus > 0:
            surplus -= 1
            end -= 1
        elif last == ";":
            entity = _ENTITY_END.search(text, max(low, end - 40), end)
            end = entity.start() if entity else end - 1
        else:
            break
    return end


def plain_url(text: str) -> str | None:
    """The address that the text is, or None where renderers might read different ones."""
    if not _PLAIN_URL.match(text) or _ENTITY.search(text):
        return None
    return f"http://{text}" if text[:4].lower() == "www." else text


def ends_everywhere(text: str, start: int, end: int) -> bool:
    """Whether every renderer ends the address where ``explicit_addresses`` did.

    Markup right behind an address is part of it for some, who then read what follows differently.
    """
    low = (
        text.find("://", start, end) + 3 if text[start : start + 4].lower() != "www." else start + 4
    )
    if _EXPLICIT_HINT.search(text, low, end):
        return False
    has_path = text.find("/", low, end) >= 0
    after = end
    while after < len(text) and text[after] in _TRAILING:
        after += 1
    if after < len(text) and not (text[after] in " \t\n" or (text[after] == "<" and has_path)):
        return False
    return has_path or not text[end:after].strip(_AFTER_HOST)


def emails(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of what a renderer links as an e-mail address."""
    if "@" not in text:
        return
    for at in re.finditer("@", text):
        start = at.start()
        while start > 0 and not text[start - 1].isspace() and text[start - 1] not in _EMAIL_STOPS:
            start -= 1
        match = _EMAIL_HOST.match(text, at.end())
        if match and start < at.start():
            prefix = _EMAIL_PREFIX.search(text, max(0, start - 7), start)
            yield (prefix.start() if prefix else start), match.end()


_EMAIL_STOPS = "<>()[]\"',;:@|\x00*~\\`"
_EMAIL_HOST = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+")
_EMAIL_PREFIX = re.compile(r"(?:mailto|xmpp):\Z", re.IGNORECASE)


def schemeless(text: str) -> Iterator[int]:
    """The positions of ``//`` before what could be a host."""
    for match in _SCHEMELESS.finditer(text):
        yield match.start()


def encoded_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Words that hold an address only after entities and escapes are decoded."""
    if "&" not in text and "\\" not in text:
        return
    for match in _ENCODED_RUN.finditer(text):
        decoded = html.unescape(_ESCAPE.sub(r"\1", match[0]))
        if decoded != match[0] and (
            _EXPLICIT_HINT.search(decoded) or next(emails(decoded), None) is not None
        ):
            yield match.start(), match.end(), decoded


def fuzzy_hosts(text: str, accepts: Callable[[str], bool]) -> Iterator[str]:
    """The plain hosts in a text node that linkify would link and ``accepts`` refuses.

    linkify is asked word by word, as no address holds a blank: over a whole text its time grows
    with the square of the length. A word too long for it is given back whole.
    """
    if not _FUZZY_HINT.search(text):
        return
    for word in dict.fromkeys((*text.split(), *text.replace("~~", " ").split())):
        if not _FUZZY_HINT.search(word):
            continue
        if len(word) > MAX_WORD:
            yield word
            continue
        for match in _LINKIFY.match(word) or ():
            if not accepts(match.url):
                yield match.raw


def merged(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges in order, those that touch or overlap as one."""
    ranges.sort()
    while ranges:
        start, end = ranges.pop(0)
        while ranges and ranges[0][0] <= end:
            end = max(end, ranges.pop(0)[1])
        yield start, end
