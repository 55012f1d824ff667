"""Front matter: what a page says of itself, read without trusting it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import yaml

from plumbline.index.entities import one_line

_FENCE = re.compile(r"\A(---|\+\+\+)[ \t]*\n")
_YAML_END = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_TOML_END = re.compile(r"^\+\+\+[ \t]*$", re.MULTILINE)
_KEY_LINE = re.compile(r"^([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM_LINE = re.compile(r"^[ \t]*-[ \t]+(.*)$")
_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*\w", re.MULTILINE)
_UNSAFE_IN_ADDRESS = re.compile(
    r"[\s\\<>\"'`(){}|^\[\]\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e]"
)

_TAGS = ("industry_tag", "product_tag", "feature_tag", "solution_tag")
_MAX_BYTES = 64 * 1024
_MAX_ALIASES = 50
_MAX_VALUES = 20
_MAX_VALUE_CHARS = 200
_MAX_TITLE_CHARS = 500
_MAX_ADDRESS_CHARS = 1000


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """``line_count`` lines stand before the page's text; ``fields`` are those of the record.

    ``title`` and ``description`` are empty when the page names none.
    """

    line_count: int = 0
    title: str = ""
    description: str = ""
    heading_path: tuple[str, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)


def read_front_matter(text: str, *, allowed_hosts: Collection[str]) -> FrontMatter:
    """The front matter of a page whose lines end in ``\\n``: YAML between ``---``, TOML in ``+++``.

    What the parser refuses is read line by line, so that an unquoted colon loses nothing. Every
    value becomes text. ``url`` is kept only if it is https on an allowed host.
    """
    opening = _FENCE.match(text)
    if opening is None:
        return FrontMatter()
    is_toml = opening.group(1) == "+++"
    end = (_TOML_END if is_toml else _YAML_END).search(text, opening.end(), _MAX_BYTES)
    if end is None:
        return FrontMatter()
    block = text[opening.end() : end.start()]
    values = _read_toml(block) if is_toml else _read_yaml(block)
    if values is None:
        return FrontMatter()
    fields: dict[str, object] = {}
    address = safe_address(_text(values.get("url")), allowed_hosts)
    if address:
        fields["url"] = address
    for name in ("source_type", "customer"):
        value = _text(values.get(name))[:_MAX_VALUE_CHARS]
        if value:
            fields[name] = value
    for name in _TAGS:
        tags = _texts(values.get(name))
        if tags:
            fields[name] = tags
    return FrontMatter(
        line_count=text.count("\n", 0, end.end()) + 1,
        title=_text(values.get("title"))[:_MAX_TITLE_CHARS],
        description=_text(values.get("description")),
        heading_path=tuple(_heading_path(values.get("heading_path"))),
        fields=fields,
    )


def safe_address(address: str, allowed_hosts: Collection[str]) -> str | None:
    """The address if it is https on an allowed host, else None.

    A host is allowed by its exact name (any letter case), or by ``*.name`` for its subdomains.
    Credentials, ports and characters that could end a link or hide in one are refused.
    Source: design, section 6.
    """
    if len(address) > _MAX_ADDRESS_CHARS or _UNSAFE_IN_ADDRESS.search(address):
        return None
    try:
        parts = urlsplit(address)
        if parts.scheme.lower() != "https" or parts.port not in (None, 443) or "@" in parts.netloc:
            return None
    except ValueError:
        return None
    host = (parts.hostname or "").lower()
    for allowed in allowed_hosts:
        name = allowed.lower()
        if host == name or (name.startswith("*.") and host.endswith(name[1:])):
            return address
    return None


def _read_toml(block: str) -> Mapping[str, object] | None:
    try:
        return tomllib.loads(block)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return _read_lines(block.replace(" = ", ": "))


def _read_yaml(block: str) -> Mapping[str, object] | None:
    if len(_ALIAS.findall(block)) > _MAX_ALIASES:
        return _read_lines(block)
    try:
        # The base loader keeps every scalar as the text that was written: no dates, no octal
        # numbers, no merge keys to multiply.
        values = yaml.load(block, Loader=yaml.CBaseLoader)  # noqa: S506
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, MemoryError):
        return _read_lines(block)
    if values is None or values == "":
        return {}
    return values if isinstance(values, dict) else None


def _read_lines(block: str) -> Mapping[str, object] | None:
    values: dict[str, object] = {}
    items: list[str] = []
    for line in block.split("\n"):
        key = _KEY_LINE.match(line)
        item = _ITEM_LINE.match(line)
        if key:
            written = (key.group(2) or "").strip()
            items = []
            if written.startswith("[") and written.endswith("]"):
                values[key.group(1)] = [_unquote(part) for part in written[1:-1].split(",")]
            else:
                values[key.group(1)] = _unquote(written) if written else items
        elif item:
            items.append(_unquote(item.group(1)))
    return values or None


def _unquote(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _text(value: object) -> str:
    """A scalar as text on one line; the first of a list; nothing for a mapping or null."""
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None or isinstance(value, (dict, list)):
        return ""
    text = one_line(str(value)[: _MAX_ADDRESS_CHARS + 1])
    return "" if text in ("~", "null") else text


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    found = (_text(item)[:_MAX_VALUE_CHARS] for item in values[: _MAX_VALUES * 2])
    return list(dict.fromkeys(text for text in found if text))[:_MAX_VALUES]


def _heading_path(value: object) -> list[str]:
    if isinstance(value, str):
        value = value.split(" > ")
    return _texts(value)
