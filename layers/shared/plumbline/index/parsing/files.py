"""One file of a repository becomes entities, or a reason why not; whatever is in it."""

from __future__ import annotations

import codecs
import re
import time
from collections.abc import Collection

from plumbline.index import languages
from plumbline.index.collector import collector_paused
from plumbline.index.entities import ParsedFile, ParseTimeout
from plumbline.index.parsing.markdown import parse_markdown
from plumbline.index.parsing.notebook import InvalidNotebook, parse_notebook
from plumbline.index.parsing.python import parse_python_or_recover, parse_with_grammar
from plumbline.index.parsing.restructuredtext import parse_restructuredtext

_HEAD_BYTES = 8000
_COOKIE = re.compile(rb"^[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
# Codecs that move lines, or take quadratic time.
_UNFIT_CODECS = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7"})
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def parse_file(
    path: str, data: bytes, *, budget_seconds: float = 5.0, allowed_hosts: Collection[str] = ()
) -> ParsedFile:
    """The entities of one file; ``path`` is relative to its repository's root, with ``/``.

    Never raises, and keeps to the budget of seconds. ``skipped`` says why there are no entities
    ("binary", "too large", "minified", "generated", "vendored", "lfs pointer", "parse timeout",
    "unsupported file type", "syntax error: ...") or why there may be too few of them. An address in
    front matter is kept if it is https on one of ``allowed_hosts``.
    """
    deadline = time.monotonic() + budget_seconds
    language: str | None = None
    try:
        language = languages.language_of(path, data[:_HEAD_BYTES])
        if language is None:
            return ParsedFile(path, None, (), "unsupported file type")
        reason = refusal(path, language, data)
        if reason:
            return ParsedFile(path, language, (), reason)
        with collector_paused():
            return _parse(path, language, data, deadline, allowed_hosts)
    except InvalidNotebook as error:
        return ParsedFile(path, language, (), f"syntax error: {error}")
    except ParseTimeout:
        return ParsedFile(path, language, (), "parse timeout")
    except Exception as error:  # a bad file costs only itself, however it is bad
        return ParsedFile(path, language, (), f"parse failed: {type(error).__name__}")


def decode(data: bytes, *, language: str | None = None) -> str:
    """The file's text, without a byte order mark: UTF-8, what a mark or a Python cookie says, or
    else Windows-1252. Line feeds keep their number.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace").removeprefix("\ufeff")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if language == "python":
        cookie = _COOKIE.search(b"\n".join(data[:1000].split(b"\n", 2)[:2]))
        text = _decode_as(data, cookie.group(1).decode("ascii", "replace")) if cookie else None
        if text is not None and text.count("\n") == data.count(b"\n"):
            return text
    return data.decode("cp1252", "replace")


def _decode_as(data: bytes, encoding: str) -> str | None:
    try:
        if codecs.lookup(encoding).name.replace("_", "-") in _UNFIT_CODECS:
            return None
        return data.decode(encoding)
    except (LookupError, ValueError):
        return None


def refusal(path: str, language: str, data: bytes) -> str | None:
    """Why the file is not parsed at all, from its path and bytes alone; None if it is."""
    limit = languages.MAX_NOTEBOOK_BYTES if language == "notebook" else languages.MAX_FILE_BYTES
    head = data[:_HEAD_BYTES]
    if languages.is_vendored(path):
        return "vendored"
    if languages.is_lfs_pointer(data):
        return "lfs pointer"
    if languages.is_binary(data):
        return "binary"
    if len(data) > limit:
        return "too large"
    if languages.is_generated(path, language, head):
        return "generated"
    if languages.is_minified(path, language, data):
        return "minified"
    return None


def _parse(
    path: str, language: str, data: bytes, deadline: float, allowed_hosts: Collection[str]
) -> ParsedFile:
    text = decode(data, language=language)
    if language == "markdown":
        sections = parse_markdown(text, path=path, deadline=deadline, allowed_hosts=allowed_hosts)
        return ParsedFile(path, language, sections)
    if language == "restructuredtext":
        sections = parse_restructuredtext(text, path=path, deadline=deadline)
        return ParsedFile(path, language, sections)
    if language == "notebook":
        kernel, cells, reason = parse_notebook(text, path=path, deadline=deadline)
        return ParsedFile(path, kernel, cells, reason)
    if language == "python":
        entities, reason = parse_python_or_recover(text, deadline=deadline)
        return ParsedFile(path, language, entities, reason)
    grammar = languages.grammar_of(path, language)
    return ParsedFile(path, language, parse_with_grammar(grammar, text, deadline))
