"""What the commands print: a streamed answer, its sources, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from devstack.client import StreamedEvent
from devstack.failure import CommandError

_DEGRADED = {
    "extractive": "No language model: the answer is made of the retrieved records alone.",
    "session": "The session store is down: nothing of this turn is remembered.",
    "extraction": "No signals were extracted this turn.",
}


def show_events(events: Iterable[StreamedEvent]) -> None:
    """One event a line, as ``{"id", "event", "data"}``; a turn that failed ends the command."""
    for event in events:
        line = {"id": event.id, "event": event.event, "data": event.data}
        print(json.dumps(line, ensure_ascii=False), flush=True)
        if event.event == "error":
            raise CommandError(str(event.data.get("message", "The turn failed.")))


def show_text(events: Iterable[StreamedEvent]) -> None:
    """The answer paragraph by paragraph as it arrives, then its sources."""
    for event in events:
        if event.event == "chunk":
            sys.stdout.write(str(event.data["content"]))
            sys.stdout.flush()
        elif event.event == "discovery":
            sys.stdout.write(f"\n{event.data['question']}\n")
        elif event.event == "handoff_proposal":
            sys.stdout.write(f"\n{event.data['reason']}\n")
        elif event.event == "error":
            sys.stdout.write("\n")
            sys.stdout.flush()
            raise CommandError(str(event.data.get("message", "The turn failed.")))
        elif event.event == "final":
            _show_final(event.data)


def _show_final(final: dict[str, Any]) -> None:
    lines = [""]
    if final["sources"]:
        lines.append("Sources")
        lines.extend(f"  [{source['n']}] {_place(source)}" for source in final["sources"])
    audit = final["audit"]
    lines.append(
        f"Audit: {audit['kept']} links kept, {audit['replaced']} replaced,"
        f" {audit['stripped']} stripped, {audit['sentences_removed']} sentences removed."
    )
    lines.extend(_DEGRADED[reason] for reason in final["degraded"] if reason in _DEGRADED)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _place(source: dict[str, Any]) -> str:
    where = source["title"]
    path = source.get("file_path")
    if path:
        lines = f":{source['line_start']}" if source.get("line_start") else ""
        where = f"{where}  {path}{lines}" if path not in where else where
    url = source.get("url")
    return f"{where}\n      {url}" if url else where


@contextmanager
def progress_bar(title: str) -> Iterator[Any]:
    """A bar on standard error; the yielded function takes a fraction and a word on the state."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=False) as progress:
        task = progress.add_task(title, total=1.0, state="waiting")

        def advance(fraction: float, state: str) -> None:
            progress.update(task, completed=fraction, state=state)

        yield advance


def show_repository(repository: dict[str, Any], *, file: TextIO | None = None) -> None:
    """What of a repository is in the index, and which files are not."""
    counts = repository.get("counts_by_type") or {}
    listed = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    commit = (repository.get("commit_sha") or "")[:12]
    at = f" at {commit}" if commit else ""
    print(f"Indexed {repository['name']}{at}: {listed or 'nothing'}.", file=file)
    skipped = repository.get("files_skipped") or {}
    if skipped:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(skipped.items()))
        print(f"Files passed over: {reasons}.", file=file)


def show_results(found: dict[str, Any]) -> None:
    """Search results, one a line with its place, and the first line of what it says."""
    for result in found["results"]:
        place = f"{result['file_path']}:{result['line_start']}"
        print(f"{result['entity_name']}  ({result['entity_type']})  {place}")
        summary = result.get("signature") or result.get("description")
        if summary:
            print(f"    {summary}")
    print(f"{found['total_hits']} found, page {found['page'] + 1} of {max(found['pages'], 1)}.")


def show_json(value: dict[str, Any]) -> None:
    """The answer as it came."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show_gaps(gaps: list[dict[str, Any]]) -> None:
    """Coverage gaps, newest first; the words only where the deployment keeps them."""
    for gap in gaps:
        print(f"{gap.get('at', '')}  {gap.get('kind', '')}  {gap.get('question') or '(not kept)'}")
    if not gaps:
        print("No coverage gaps.")
