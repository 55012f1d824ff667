"""plumbline parse: what would be indexed of a file, and why the rest would not."""

from __future__ import annotations

import argparse
import errno
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from plumbline.index.entities import Entity, ParsedFile
from plumbline.index.languages import MAX_NOTEBOOK_BYTES
from plumbline.index.parsing.files import parse_file
from plumbline.index.records import build_documents

_SIGNATURE_CHARS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file, or a folder of files")
    parser.add_argument(
        "--json", action="store_true", help="one record a line, as it would go into the index"
    )
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="a host whose https addresses front matter may give (may be repeated)",
    )


def run(args: argparse.Namespace) -> int:
    """Print each file's entities. 1 if a file could not be read, else 0: a skipped file is an
    answer, not a failure. Records carry repository 0, as no repository is known.
    """
    status = 0
    try:
        for name in args.files:
            path = Path(name)
            if not path.exists():
                print(f"plumbline parse: {name}: no such file or folder", file=sys.stderr)
                status = 1
                continue
            for file in _files(path):
                status = max(status, _show(file, args))
    except BrokenPipeError:  # `| head` closed the pipe: nobody is left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return status


def _show(file: Path, args: argparse.Namespace) -> int:
    try:
        if not file.is_file():
            raise OSError(errno.EINVAL, "not a regular file")
        with file.open("rb") as stream:
            data = stream.read(MAX_NOTEBOOK_BYTES + 1)
    except OSError as error:
        print(f"plumbline parse: {file}: {error.strerror}", file=sys.stderr)
        return 1
    parsed = parse_file(_path_in_repository(file), data, allowed_hosts=args.host)
    for line in _json_lines(parsed) if args.json else _text_lines(parsed):
        print(line)
    return 0


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (Path(folder, name) for name in sorted(names))


def _path_in_repository(file: Path) -> str:
    """The path under which a repository would hold the file: from its root, or from here."""
    absolute = Path(os.path.abspath(file))
    roots = [folder for folder in absolute.parents if (folder / ".git").exists()]
    for root in [*roots[:1], Path.cwd()]:
        if absolute.is_relative_to(root):
            return absolute.relative_to(root).as_posix()
    return absolute.name


def _json_lines(parsed: ParsedFile) -> Iterator[str]:
    records = build_documents(
        parsed, repository_id=0, repository="", repository_url="", commit_sha=None
    )
    yield from (json.dumps(record) for record in records)
    if parsed.skipped:
        reason = {
            "file_path": parsed.path,
            "language": parsed.language,
            "skipped": parsed.skipped,
        }
        yield json.dumps(reason)


def _text_lines(parsed: ParsedFile) -> Iterator[str]:
    count = len(parsed.entities)
    said = f"{count} {'record' if count == 1 else 'records'}" if count else "nothing indexed"
    if parsed.skipped:
        said += f": {parsed.skipped}"
    yield _printable(f"{parsed.path}  [{parsed.language or 'no known language'}]  {said}")
    width = max((len(_lines(entity)) for entity in parsed.entities), default=0)
    for entity in parsed.entities:
        yield _printable(f"  {_lines(entity):>{width}}  {_words(entity)}")


def _words(entity: Entity) -> str:
    signature = entity.signature[:_SIGNATURE_CHARS]
    words: Sequence[str] = (f"{entity.kind_label}: {entity.qualified_name}", signature)
    return "  |  ".join(dict.fromkeys(word for word in words if word))


def _lines(entity: Entity) -> str:
    return f"{entity.line_start}-{entity.line_end}"


def _printable(text: str) -> str:
    """Without control characters: a file must not steer the terminal that shows it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
