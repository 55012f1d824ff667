"""get_file_section: lines of a file at the commit that the index was built from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from plumbline.errors import InvalidRequest, NotFound
from plumbline.index.registry import Repository
from plumbline.search.arguments import number_argument, text_argument
from plumbline.search.code_search import RepositoryDirectory, repository_reference
from plumbline.search.permalinks import permalink
from plumbline.search.token_budget import count_within, estimated_tokens

MAX_LINES = 2_000
MAX_CONTEXT_LINES = 200
MAX_PATH_BYTES = 1_024
MAX_LINE_CHARS = 1_500
LAST_LINE = 10_000_000
_OBJECT_ID = re.compile(r"(\d{1,15})_[0-9a-f]{40}")


class RecordReader(Protocol):
    """The records of the stack's index."""

    def get_objects(self, object_ids: Sequence[str]) -> list[dict[str, Any] | None]:
        """Records by objectID, None where there is none; raises ``SearchError``'s children."""
        ...


class SnapshotReader(Protocol):
    """The kept snapshots of indexed commits."""

    def read_lines(
        self, repository: Repository, commit: str | None, path: str, start: int, end: int
    ) -> str:
        """Lines ``start`` to ``end`` (1-based, inclusive) of a file with their line ends.

        Fewer if the file ends before, none if it ends before ``start``.

        Raises ``NotFound`` for a path or a commit that is not kept, ``StorageUnavailable`` when
        the store does not answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileSection:
    """Lines of a file, 1-based and inclusive; ``next_line`` is set when more were asked for.

    A line over 1,500 characters is cut and says so. ``commit_sha`` is None for an archive that
    names no commit.
    """

    repository: str
    commit_sha: str | None
    file_path: str
    line_start: int
    line_end: int
    text: str
    url: str | None
    next_line: int | None

    def public(self) -> dict[str, object]:
        """Every field, null where there is none."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SectionRequest:
    """What to read: an objectID that a search returned, or a repository, a path and lines."""

    id: str | None = None
    repository: str | int | None = None
    file_path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    context_lines: int = 0


def get_file_section(
    request: SectionRequest,
    *,
    records: RecordReader,
    repositories: RepositoryDirectory,
    snapshots: SnapshotReader,
    from_line: int | None = None,
    max_tokens: int,
) -> FileSection:
    """The lines asked for, from the snapshot of the indexed commit, as many as the budget holds.

    ``from_line`` goes on where an earlier answer stopped. Raises ``InvalidRequest``, ``NotFound``
    for an id, repository, path or line that is not there, and what the readers raise.
    """
    number_argument("context_lines", request.context_lines, 0, MAX_CONTEXT_LINES)
    identifier = text_argument("id", request.id, 100)
    if identifier is not None:
        repository, path, start, end = _of_record(identifier, records, repositories)
    else:
        repository, path, start, end = _of_path(request, repositories)
    commit = repository.commit_sha
    if commit is None and repository.indexed_at is None:
        raise NotFound(f"{repository.name} has not been indexed yet; see list_repositories.")
    start = max(1, start - request.context_lines)
    end = min(end + request.context_lines, LAST_LINE)
    if from_line is not None:
        start = max(start, from_line)
    last = min(end, start + MAX_LINES - 1)
    lines: list[str] = []
    if start <= last:
        read = snapshots.read_lines(repository, commit, path, start, last)
        lines = [_shortened(line) for line in _split(read)]
    if not lines:
        raise NotFound(f"{path} has no line {start}; ask for an earlier one.")
    # The first line always goes out: it is cut to a length that fits any budget in use.
    kept = max(1, count_within(map(_cost, lines), max_tokens))
    stopped = start + kept - 1
    # More is there if the budget cut the lines, or if the snapshot gave all that were read for.
    more = kept < len(lines) or (stopped == last and last < end)
    return FileSection(
        repository=repository.name,
        commit_sha=commit,
        file_path=path,
        line_start=start,
        line_end=stopped,
        text="\n".join(lines[:kept]),
        url=permalink(repository.url, commit or repository.branch, path, start, stopped),
        next_line=stopped + 1 if more else None,
    )


def _of_record(
    identifier: str, records: RecordReader, repositories: RepositoryDirectory
) -> tuple[Repository, str, int, int]:
    match = _OBJECT_ID.fullmatch(identifier)
    if match is None:
        raise InvalidRequest("id must be the id of a search_code result")
    (record,) = records.get_objects([identifier])
    repository = repositories.find(int(match[1]))
    if record is None or repository is None:
        raise NotFound(
            "No record has this id any more: the file was indexed again since. Search once more."
        )
    path = text_argument("file_path", record.get("file_path"), MAX_PATH_BYTES)
    if path is None:
        raise NotFound("This record names no file.")
    start, end = _lines_of(record)
    return repository, path, start, end


def _lines_of(record: Mapping[str, Any]) -> tuple[int, int]:
    start, end = record.get("line_start"), record.get("line_end")
    if not isinstance(start, int) or start < 1:
        return 1, MAX_LINES
    return start, end if isinstance(end, int) and end >= start else start


def _of_path(
    request: SectionRequest, repositories: RepositoryDirectory
) -> tuple[Repository, str, int, int]:
    path = text_argument("file_path", request.file_path, MAX_PATH_BYTES)
    if request.repository in (None, "") or path is None:
        raise InvalidRequest("Give the id of a search result, or repository and file_path.")
    if "\0" in path or "\\" in path or not all(_named(part) for part in path.split("/")):
        raise InvalidRequest("file_path must be a path inside the repository, such as src/app.py")
    start = 1
    if request.line_start is not None:
        start = number_argument("line_start", request.line_start, 1, LAST_LINE)
    end = LAST_LINE
    if request.line_end is not None:
        end = number_argument("line_end", request.line_end, start, LAST_LINE)
    repository = repositories.find(repository_reference(request.repository))
    if repository is None:
        raise NotFound("No such repository is indexed; list_repositories names them.")
    return repository, path, start, end


def _named(part: str) -> bool:
    return part not in ("", ".", "..")


def _split(text: str) -> list[str]:
    """The lines without their ends; other separators (form feeds) do not end a line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines and lines[-1] == "" else lines


def _cost(line: str) -> int:
    """The line's tokens as text and once more as JSON: a tool's result carries it twice."""
    return estimated_tokens(line) + estimated_tokens(json.dumps(line, ensure_ascii=False))


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    return f"{line[:MAX_LINE_CHARS]} … [line cut: {len(line)} characters]"
