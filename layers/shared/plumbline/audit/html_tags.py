"""Raw HTML in an answer: which tags are harmless, and what becomes of the rest."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

# Removed with all that they hold: a browser runs, loads or hides it.
# fmt: off
_HOLDERS = frozenset((
    "script", "style", "iframe", "svg", "math", "object", "embed", "applet", "template",
    "noscript", "noembed", "noframes", "xmp", "textarea", "title", "select", "audio", "video",
    "canvas", "frameset", "portal", "fencedframe", "head",
))
# fmt: on
# Elements of HTML that may not stand, not even bare; their text may.
# fmt: off
_REFUSED = _HOLDERS | frozenset((
    "a", "img", "image", "source", "picture", "track", "param", "link", "meta", "base",
    "form", "input", "button", "option", "optgroup", "label", "fieldset", "output", "frame",
    "html", "body", "plaintext", "marquee", "bgsound", "isindex", "keygen", "area", "map",
    "dialog", "slot", "command", "menuitem", "listing", "font", "center", "nobr",
))
# fmt: on
# Elements that only shape text: kept, without attributes that are not named below.
# fmt: off
_SHAPES = frozenset((
    "abbr", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col",
    "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption",
    "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "ins", "kbd", "li", "mark", "ol",
    "p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strike",
    "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time",
    "tr", "tt", "u", "ul", "var", "wbr", "article", "aside", "footer", "header", "main",
    "nav",
))
# fmt: on
_NAME = r"[A-Za-z][A-Za-z0-9-]*"
_TAG = re.compile(
    rf"<(?P<close>/?)(?P<name>{_NAME})(?P<rest>(?:[\s/](?:[^<>\"']|\"[^\"]*\"|'[^']*')*)?)>"
)
_OTHERS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
_PLAIN_VALUE = r'(?:\s*=\s*(?:"[A-Za-z0-9 %._-]*"|\'[A-Za-z0-9 %._-]*\'|[A-Za-z0-9%._-]+))?'
_HARMLESS_REST = re.compile(
    rf"(?:\s+(?:align|open|start|colspan|rowspan|lang|dir|width|height|reversed){_PLAIN_VALUE})*"
    r"\s*/?\Z",
    re.IGNORECASE,
)
_BARE_REST = re.compile(r"(?:\s+(?!on)[A-Za-z][A-Za-z0-9-]*)*\s*/?\Z", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([A-Za-z][A-Za-z0-9:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+))"
)
_LOOKS_LIKE_TAG = re.compile(r"<(?=[A-Za-z/!?])")


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: its lower-case name, whether it closes, and its place in the text."""

    name: str
    closing: bool
    start: int
    end: int
    rest: str

    def attribute(self, name: str) -> str | None:
        """The attribute's value, entities decoded."""
        for key, *values in _ATTRIBUTE.findall(self.rest):
            if key.lower() == name:
                return html.unescape(next((value for value in values if value), ""))
        return None


def read_tag(text: str, start: int = 0) -> Tag | None:
    """The tag that begins at ``start``, or None."""
    match = _TAG.match(text, start)
    if match is None:
        return None
    return Tag(match["name"].lower(), bool(match["close"]), start, match.end(), match["rest"])


def harmless(tag: Tag) -> bool:
    """Whether a tag may stand as it is: it can load nothing, run nothing, lead nowhere.

    A name that HTML does not have (``List<String>``, ``<your-key>``) stands without values.
    """
    if tag.name in _REFUSED:
        return False
    if tag.name in _SHAPES:
        return bool(_HARMLESS_REST.match(tag.rest))
    return bool(_BARE_REST.match(tag.rest))


def _bare(tag: Tag) -> bool:
    """A tag of a name alone, as prose names one ("the <title> tag"): shown, not dropped."""
    return tag.rest.strip() in ("", "/")


def safe_html(text: str) -> bool:
    """Whether raw HTML text holds nothing but harmless tags."""
    for match in _LOOKS_LIKE_TAG.finditer(text):
        tag = read_tag(text, match.start())
        if tag is None or not harmless(tag):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Change:
    """One change to raw HTML: a range and what stands there instead."""

    start: int
    end: int
    replacement: str
    image: bool = False


def html_anchors_to_markdown(text: str, starts: list[int], escape: str) -> Iterator[Change]:
    """What to change so that only harmless HTML is left.

    ``starts`` are the positions of each ``<`` that a renderer reads as HTML; ``escape`` is what a
    ``<`` becomes that belongs to no element of HTML. Anchors become Markdown links and images
    Markdown images, to be judged as such. Source: seed 000, htmlAnchorsToMarkdown.
    """
    position = 0
    positions = frozenset(starts)
    for start in starts:
        if start < position:
            continue
        tag = read_tag(text, start)
        if tag is None:
            end = _other_end(text, start)
            position = end or start + 1
            yield Change(start, position, "" if end else escape)
        elif harmless(tag):
            position = tag.end
        elif tag.name == "a" and not tag.closing:
            change = _anchor(text, tag, positions)
            position = change[-1].end
            yield from change
        elif tag.name in ("img", "image") and not tag.closing:
            position = tag.end
            source = tag.attribute("src") or tag.attribute("href") or ""
            alt = markdown_label(tag.attribute("alt") or "")
            yield Change(start, position, f"![{alt}]({markdown_destination(source)})", image=True)
        elif tag.name in _HOLDERS and not tag.closing:
            close = re.compile(rf"</{tag.name}\s*>", re.IGNORECASE).search(text, tag.end)
            if close is None and _bare(tag):
                position = start + 1
                yield Change(start, position, escape)
            else:
                position = close.end() if close else tag.end
                yield Change(start, position, "")
        elif tag.name in _SHAPES:
            position = tag.end
            yield Change(start, position, f"<{'/' if tag.closing else ''}{tag.name}>")
        elif tag.name in _REFUSED and not (_bare(tag) and not tag.closing):
            position = tag.end
            yield Change(start, position, "")
        else:
            position = start + 1
            yield Change(start, position, escape)


def _other_end(text: str, start: int) -> int:
    """The end of the comment, instruction or declaration at ``start``, or 0 if it never ends."""
    for opening, closing in _OTHERS:
        if text.startswith(opening, start):
            end = text.find(closing, start + len(opening))
            return end + len(closing) if end >= 0 else 0
    return 0


def _anchor(text: str, tag: Tag, positions: frozenset[int]) -> list[Change]:
    close = next(
        (
            m
            for m in re.finditer(r"</a\s*>", text[tag.end :], re.IGNORECASE)
            if tag.end + m.start() in positions
        ),
        None,
    )
    target = tag.attribute("href")
    if close is None or target is None:
        return [Change(tag.start, tag.end, "")]
    low, high = tag.end + close.start(), tag.end + close.end()
    inner = text[tag.end : low]
    if _LOOKS_LIKE_TAG.search(inner) or "[" in inner or "]" in inner or "\n\n" in inner:
        label = markdown_label(re.sub(r"<[^<>]*>", "", inner))
    else:
        label = inner.strip()
    link = f"[{label}]({markdown_destination(target)})"
    return [Change(tag.start, high, link)]


def markdown_label(text: str) -> str:
    """Text as the label of a Markdown link: brackets escaped, on one line."""
    return " ".join(re.sub(r"([\[\]\\`*_<>&])", r"\\\1", text).split())


def markdown_destination(url: str) -> str:
    """An address as a Markdown destination; what cannot be in one is percent-encoded."""
    return re.sub(
        r"[\x00-\x20\x7f<>()\\\[\]`*|&\"']",
        lambda found: f"%{ord(found[0]):02X}" if found[0] not in "&" else "&amp;",
        url.strip(),
    )
