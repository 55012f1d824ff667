"""plumbline audit: an answer as the auditor would let it through, and why a link went."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from devstack.failure import CommandError
from plumbline.audit.auditor import AuditedParagraph, InlineStreamAuditor
from plumbline.errors import InstanceError
from plumbline.instance import load_instance
from plumbline.sources import Source

READ_CHARS = 256
MAX_SOURCES_BYTES = 32 * 1024 * 1024


class _SourceRow(BaseModel):
    """One record of ``sources.json``."""

    model_config = ConfigDict(extra="ignore")

    n: int = Field(ge=1)
    title: str
    content: str
    url: str | None = None
    source_type: str = "doc"
    file_path: str | None = None
    line_start: int | None = None
    line_end: int | None = None
    repository: str | None = None
    commit_sha: str | None = None
    customer: str | None = None


_ROWS = TypeAdapter(list[_SourceRow])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "answer", nargs="?", type=Path, help="the answer in Markdown (default: standard input)"
    )
    parser.add_argument(
        "--sources",
        required=True,
        type=Path,
        metavar="FILE",
        help="a JSON list of {n, title, url, content, customer?}",
    )
    parser.add_argument(
        "--instance", default="default", help="an instance's name or file (default: default)"
    )
    parser.add_argument("--question", default="", help="what the reader asked")
    parser.add_argument(
        "--json", action="store_true", help="the text with every decision, as one JSON object"
    )


def run(args: argparse.Namespace) -> int:
    """Print the audited answer; with ``--json`` the decisions too. 0 whatever was removed."""
    try:
        policy = load_instance(args.instance).audit
    except InstanceError as exc:
        raise CommandError(exc.message) from exc
    sources = read_sources(args.sources)
    customers = {s.customer: s.url for s in sources if s.customer and s.url}
    auditor = InlineStreamAuditor(
        sources, policy=policy, question=args.question, customers=customers
    )
    try:
        with _open(args.answer) as answer:
            paragraphs = _audited(auditor, answer, show=not args.json)
    except (OSError, UnicodeDecodeError) as exc:
        reason = "it is not UTF-8 text" if isinstance(exc, ValueError) else exc.strerror
        raise CommandError(f"the answer cannot be read: {reason}") from exc
    if args.json:
        print(json.dumps(_report(auditor, paragraphs), indent=2, ensure_ascii=False))
    return 0


def read_sources(path: Path) -> list[Source]:
    """The sources of a file, or ``CommandError`` with what is wrong and where."""
    try:
        if path.stat().st_size > MAX_SOURCES_BYTES:
            raise CommandError(f"{path} is larger than 32 MiB")
        rows = _ROWS.validate_json(path.read_bytes())
    except OSError as exc:
        raise CommandError(f"{path} cannot be read: {exc.strerror}") from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]
        )
        raise CommandError(
            f"{path}{f' at {where}' if where else ''}: {first['msg']}; "
            "expected a list of {n, title, url, content, customer?}"
        ) from exc
    numbers = [row.n for row in rows]
    if len(set(numbers)) != len(numbers):
        raise CommandError(f"{path}: two sources have the same n")
    return [Source(**row.model_dump()) for row in rows]


def _open(answer: Path | None) -> IO[str]:
    if answer is not None:
        return answer.open(encoding="utf-8", newline="")
    return os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", newline="")


def _audited(
    auditor: InlineStreamAuditor, answer: IO[str], *, show: bool
) -> list[AuditedParagraph]:
    """The paragraphs, each shown as soon as it is whole: the road that a turn takes."""
    paragraphs: list[AuditedParagraph] = []

    def take(ready: Sequence[AuditedParagraph]) -> None:
        paragraphs.extend(ready)
        if show:
            for paragraph in ready:
                sys.stdout.write(paragraph.content)
            sys.stdout.flush()

    while piece := answer.read(READ_CHARS):
        take(list(auditor.feed(piece)))
    take(list(auditor.close()))
    return paragraphs


def _report(
    auditor: InlineStreamAuditor, paragraphs: Sequence[AuditedParagraph]
) -> dict[str, object]:
    return {
        "content": "".join(paragraph.content for paragraph in paragraphs),
        "kept": auditor.kept,
        "replaced": auditor.replaced,
        "stripped": auditor.stripped,
        "sentences_removed": auditor.sentences_removed,
        "images_removed": auditor.images_removed,
        "cited_sources": list(auditor.cited_sources),
        "unverified": list(auditor.unverified),
        "decisions": [
            {
                "label": decision.label,
                "url": decision.url,
                "action": decision.action,
                "reason": decision.reason,
                "replacement": decision.replacement,
            }
            for decision in auditor.decisions
        ],
        "paragraphs": [
            {
                "content": paragraph.content,
                "verdict": paragraph.verdict,
                "reasons": list(paragraph.reasons),
                "trace": list(paragraph.trace),
            }
            for paragraph in paragraphs
        ],
    }
