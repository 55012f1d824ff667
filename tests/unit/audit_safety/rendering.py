"""Renders audited text with three Markdown renderers, and says where the result leads.

The judgement is made here from the rendered HTML alone, with none of the auditor's own code.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BATCH = 2500

# fmt: off
ADDRESS_ATTRIBUTES = frozenset(
    (
        "href", "src", "srcset", "action", "formaction", "poster", "data", "background", "cite",
        "longdesc", "ping", "manifest", "xlink:href", "codebase", "classid", "usemap", "lowsrc",
        "dynsrc", "archive", "profile", "content",
    )
)
ACTIVE_ELEMENTS = frozenset(
    (
        "script", "iframe", "object", "embed", "svg", "math", "base", "link", "meta", "form",
        "style", "frame", "frameset",
    )
)
# fmt: on

_PYTHON_RENDERER = MarkdownIt("default", {"html": True, "linkify": True})


class _Leads(HTMLParser):
    """Collects what a page could load, run or follow."""

    def __init__(self, allowed: Collection[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.allowed = allowed
        self.escapes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ACTIVE_ELEMENTS:
            self.escapes.append(f"<{tag}>")
        footnote = any(name.startswith("data-footnote") for name, _ in attrs)
        for name, value in attrs:
            if name.startswith("on"):
                self.escapes.append(f"{tag} {name}={value}")
            elif name == "style" and re.search(r"url|expression|import|\\", value or "", re.I):
                self.escapes.append(f"{tag} style={value}")
            elif name in ADDRESS_ATTRIBUTES and not self._may(value or "", footnote):
                self.escapes.append(f"{tag} {name}={value}")

    handle_startendtag = handle_starttag

    def _may(self, value: str, footnote: bool) -> bool:
        if footnote and re.fullmatch(r"#user-content-[^/:]*", value):
            return True
        try:
            parts = urlsplit(value)
            host = (parts.hostname or "").rstrip(".")
        except ValueError:
            return False
        if parts.username is not None or "\\" in value:
            return False
        return parts.scheme in ("http", "https") and host in self.allowed


def escapes(page: str, allowed: Collection[str]) -> list[str]:
    """What in the HTML leads somewhere not allowed, runs, or loads."""
    parser = _Leads(allowed)
    parser.feed(page)
    parser.close()
    return parser.escapes


def render_python(text: str) -> str:
    """markdown-it-py's HTML, with linkify and raw HTML on."""
    return str(_PYTHON_RENDERER.render(text))


def javascript_renderers() -> str | None:
    """Why the JavaScript renderers cannot run here, or None."""
    if shutil.which("node") is None:
        return "node is not installed"
    if not (ROOT / "node_modules" / "marked").is_dir():
        return "npm ci has not been run"
    return None


class JavaScriptRenderers:
    """marked and remark (GFM, raw HTML on), a process a batch, beside the work of this one."""

    def __init__(self) -> None:
        self._batches: list[tuple[list[str], subprocess.Popen[str], IO[str]]] = []
        self._waiting: list[str] = []

    def add(self, text: str) -> None:
        """Takes a text in; a full batch begins to be rendered."""
        self._waiting.append(text)
        if len(self._waiting) >= BATCH:
            self._start()

    def pages(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Each text with the HTML that each renderer makes of it."""
        self._start()
        for texts, process, output in self._batches:
            with output:
                _, errors = process.communicate()
                if process.returncode != 0:
                    raise RuntimeError(f"the JavaScript renderers failed: {errors[-2000:]}")
                output.seek(0)
                yield from zip(texts, json.load(output), strict=True)

    def _start(self) -> None:
        if not self._waiting:
            return
        with TemporaryFile("w+", encoding="utf-8") as given:
            json.dump([_well_formed(text) for text in self._waiting], given)
            given.seek(0)
            output = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - read in pages()
            process = subprocess.Popen(
                ["node", str(HERE / "render.mjs")],
                stdin=given,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
        self._batches.append((self._waiting, process, output))
        self._waiting = []


def render_javascript(texts: Sequence[str]) -> list[dict[str, str]]:
    """The HTML that marked and remark make of each text."""
    renderers = JavaScriptRenderers()
    for text in texts:
        renderers.add(text)
    return [page for _, page in renderers.pages()]


def _well_formed(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def spec_examples(text: str) -> Iterator[tuple[int, str]]:
    """The numbered Markdown examples of a specification in CommonMark's ``spec.txt`` form."""
    pattern = re.compile(r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", re.M | re.S)
    for number, match in enumerate(pattern.finditer(text), 1):
        yield number, match[1].replace("→", "\t")
