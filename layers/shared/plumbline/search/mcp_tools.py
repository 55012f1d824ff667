"""The four MCP tools: arguments in, a result of at most 20,000 tokens out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from plumbline.errors import InvalidRequest
from plumbline.index.registry import Repository
from plumbline.search.arguments import number_argument, text_argument
from plumbline.search.code_search import (
    DEFAULT_LIMIT,
    RepositoryDirectory,
    SearchIndex,
    ready_repository,
    search_code,
)
from plumbline.search.file_sections import (
    RecordReader,
    SectionRequest,
    SnapshotReader,
    get_file_section,
)
from plumbline.search.query_building import BuiltQuery, build_query
from plumbline.search.token_budget import MAX_RESULT_TOKENS, count_within, estimated_tokens

MAX_QUESTION_BYTES = 8_000
MAX_QUESTION_CHARS = 2_000
# What a result holds beside its items: names of fields, the cursor, a long path twice, its link.
_RESERVED_TOKENS = 4_500
_ITEM_TOKENS = MAX_RESULT_TOKENS - _RESERVED_TOKENS
_CUT = "… [cut to fit; the sources hold the rest]"
_CURSOR = re.compile(r"(\d{1,8})(?::(\d{1,4}))?")


class ToolIndex(SearchIndex, RecordReader, Protocol):
    """The index as the tools need it."""


@dataclass(frozen=True, slots=True)
class AskAnswer:
    """An audited answer. ``sources`` are ``Source.public()`` of the cited ones, in their order."""

    content: str
    sources: Sequence[Mapping[str, object]]
    uncertain: bool = False
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's result: JSON that fits its output schema, and the same for reading."""

    structured: Mapping[str, object]
    text: str


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools by name. Each takes the arguments as they came and raises ``PlumblineError``.

    ``ask_question`` answers one question in a session of its own, about one repository (its
    ``owner/name``) or all of them.
    """

    index: ToolIndex
    repositories: RepositoryDirectory
    snapshots: SnapshotReader
    ask_question: Callable[[str, str | None], AskAnswer]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    build_query: Callable[[str], BuiltQuery] = build_query

    def run(self, name: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Run the tool of this name, one of the catalogue's; null counts as left out."""
        run: Callable[[Mapping[str, Any]], ToolOutput] = {
            "search_code": self.search_code,
            "get_file_section": self.get_file_section,
            "list_repositories": self.list_repositories,
            "ask": self.ask,
        }[name]
        return run({name: value for name, value in arguments.items() if value is not None})

    def search_code(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Search; as many of the page's results as fit, and a cursor to the next ones."""
        page, skip = _position(arguments, arguments.get("page", 0))
        found = search_code(
            arguments.get("query", ""),
            arguments.get("repository"),
            arguments.get("language"),
            arguments.get("entity_type"),
            arguments.get("limit", DEFAULT_LIMIT),
            page,
            index=self.index,
            repositories=self.repositories,
            build=self.build_query,
        )
        results = found.results[skip:]
        kept = count_within((_cost(result.public()) for result in results), _ITEM_TOKENS)
        if results and not kept:
            # Only a path of thousands of characters comes here; the rest of the result gives way.
            results, kept = (replace(results[0], snippet="", description=None),), 1
        cut = kept < len(found.results) - skip
        following = f"{found.page}:{skip + kept}" if cut else None
        if following is None and found.page + 1 < found.pages:
            following = f"{found.page + 1}:0"
        return _as_json(
            {
                **replace(found, results=results[:kept]).public(),
                "truncated": cut,
                "next_cursor": following,
            }
        )

    def get_file_section(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Read lines; as many as fit, and a cursor to the next ones."""
        from_line, _ = _position(arguments, None)
        section = get_file_section(
            SectionRequest(
                id=arguments.get("id"),
                repository=arguments.get("repository"),
                file_path=arguments.get("file_path"),
                line_start=arguments.get("line_start"),
                line_end=arguments.get("line_end"),
                context_lines=arguments.get("context_lines", 0),
            ),
            records=self.index,
            repositories=self.repositories,
            snapshots=self.snapshots,
            from_line=from_line,
            max_tokens=_ITEM_TOKENS,
        )
        fields = section.public()
        following = fields.pop("next_line")
        cursor = None if following is None else str(following)
        at = f"@{section.commit_sha[:12]}" if section.commit_sha else ""
        head = f"{section.repository}{at} {_one_line(section.file_path)}"
        lines = f"lines {section.line_start} to {section.line_end}"
        more = f"\n… [cut; go on with cursor {cursor}]" if cursor else ""
        return ToolOutput(
            {**fields, "truncated": cursor is not None, "next_cursor": cursor},
            f"{head}, {lines}\n{section.text}{more}",
        )

    def list_repositories(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """List the repositories by name; as many as fit, and a cursor to the next ones."""
        skip, _ = _position(arguments, 0)
        everything = sorted(self.repositories.list(), key=lambda known: (known.name, known.number))
        shown = [_repository(known, self.now()) for known in everything[skip:]]
        kept = max(min(1, len(shown)), count_within(map(_cost, shown), _ITEM_TOKENS))
        cut = kept < len(shown)
        return _as_json(
            {
                "total": len(everything),
                "repositories": shown[:kept],
                "truncated": cut,
                "next_cursor": str(skip + kept) if cut else None,
            }
        )

    def ask(self, arguments: Mapping[str, Any]) -> ToolOutput:
        """Ask; the audited answer as text with its sources."""
        question = text_argument("question", arguments.get("question"), MAX_QUESTION_BYTES)
        if question is None or len(question) > MAX_QUESTION_CHARS:
            raise InvalidRequest("question must have 1 to 2000 characters")
        repository = None
        if arguments.get("repository") not in (None, ""):
            repository = ready_repository(arguments["repository"], self.repositories).name
        answer = self.ask_question(question, repository)
        content = _shortened(answer.content, _ITEM_TOKENS // 3)
        sources = [_source(source) for source in answer.sources]
        kept = count_within(map(_cost, sources), _ITEM_TOKENS // 3)
        listed = "\n".join(
            _one_line(" ".join(str(source[k]) for k in ("n", "title", "url") if k in source))
            for source in sources[:kept]
        )
        marks = "\n\nNot everything in this answer is covered by its sources."
        return ToolOutput(
            {
                "answer": content,
                "uncertain": answer.uncertain,
                "degraded": list(answer.degraded),
                "sources": sources[:kept],
                "truncated": content is not answer.content or kept < len(sources),
            },
            content
            + (marks if answer.uncertain else "")
            + (f"\n\nSources:\n{listed}" if listed else ""),
        )


def result_tokens(output: ToolOutput) -> int:
    """What the whole result may take up, its two forms together."""
    return estimated_tokens(output.text) + estimated_tokens(_json(output.structured))


def _position(arguments: Mapping[str, Any], start: Any) -> tuple[Any, int]:
    """Where to go on: the cursor's two numbers, or the start given and 0."""
    cursor = text_argument("cursor", arguments.get("cursor"), 20)
    if cursor is None:
        return start, 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidRequest("cursor must be the next_cursor of an earlier result")
    return int(match[1]), number_argument("cursor", int(match[2] or 0), 0, 50)


def _repository(known: Repository, now: datetime) -> dict[str, object]:
    return {
        "number": known.number,
        "name": known.name,
        "url": known.url,
        "status": known.status,
        "progress": known.progress,
        "reason": known.reason[:500] if known.reason else None,
        "commit_sha": known.commit_sha,
        "indexed_at": known.indexed_at,
        "age": _age(known.indexed_at, now),
        "languages": dict(known.counts_by_language),
    }


def _age(indexed_at: str | None, now: datetime) -> str | None:
    """How long ago, in the largest unit that is at least one: ``3 hours``."""
    try:
        then = datetime.fromisoformat(indexed_at or "")
    except ValueError:
        return None
    seconds = (now - then.replace(tzinfo=then.tzinfo or UTC)).total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // size)
        if count >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"


def _source(source: Mapping[str, object]) -> dict[str, object]:
    return {
        name: source[name]
        for name in ("n", "title", "url", "repository", "file_path", "line_start", "line_end")
        if source.get(name) is not None
    }


def _one_line(text: str) -> str:
    """Names from outside cannot add lines of their own to what a reader sees."""
    return " ".join(text.split())


def _shortened(text: str, max_tokens: int) -> str:
    """The text, or as much of it as fits, with the mark that says so."""
    if _cost(text) <= max_tokens * 2:
        return text
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _cost(text[:middle]) <= max_tokens * 2 else (low, middle)
    return text[:low] + _CUT


def _cost(value: object) -> int:
    """The tokens of a part of a result, which goes out twice: as JSON and for reading."""
    return 2 * estimated_tokens(_json(value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _as_json(structured: Mapping[str, object]) -> ToolOutput:
    return ToolOutput(structured, _json(structured))
