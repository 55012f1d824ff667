"""What the commands print: a streamed answer, its sources, progress."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from devstack.client import StreamedEvent
from devstack.failure import CommandError
from devstack.terminal import printable, say

_DEGRADED = {
    "extractive": "No language model answered: this is made of the retrieved records alone.",
    "model_failed": "The language model was asked and failed.",
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


def show_text(
    events: Iterable[StreamedEvent], *, session: str | None = None, goes_on: bool = False
) -> None:
    """The answer paragraph by paragraph as it arrives, then its sources.

    ``session`` is the one that was asked for: if the turn has another, that is said first. Where
    the session ``goes_on`` after the command, it is named at the end.
    """
    had = ""
    for event in events:
        if event.event == "pulse":
            had = printable(event.data.get("session_id", ""))
            if session and had != session:
                say(f"The session {printable(session)} is not known; this is a new one.")
        elif event.event == "chunk":
            sys.stdout.write(printable(event.data["content"]))
            sys.stdout.flush()
        elif event.event == "discovery":
            sys.stdout.write(f"\n{printable(event.data['question'])}\n")
        elif event.event == "handoff_proposal":
            sys.stdout.write(f"\n{printable(event.data['reason'])}\n")
        elif event.event == "error":
            sys.stdout.write("\n")
            sys.stdout.flush()
            raise CommandError(str(event.data.get("message", "The turn failed.")))
        elif event.event == "final":
            _show_final(event.data, had if goes_on else "")


def _show_final(final: dict[str, Any], session: str) -> None:
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
    if session and "session" not in final["degraded"]:
        lines.append(f"Session: {session} (go on with --session)")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _place(source: dict[str, Any]) -> str:
    where = source["title"]
    path = source.get("file_path")
    if path:
        lines = f":{source['line_start']}" if source.get("line_start") else ""
        where = f"{where}  {path}{lines}" if path not in where else where
    url = source.get("url")
    return printable(f"{where}\n      {url}" if url else where)


@contextmanager
def progress_bar(title: str) -> Iterator[Any]:
    """A bar on standard error; the yielded function takes a fraction and a word on the state."""
    console = Console(stderr=True)
    # Brackets in a name are no markup.
    title = escape(printable(title))
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
    name = printable(repository["name"])
    print(f"Indexed {name}{at}: {listed or 'nothing'}.", file=file)
    skipped = repository.get("files_skipped") or {}
    if skipped:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(skipped.items()))
        print(f"Files passed over: {reasons}.", file=file)


def show_results(found: dict[str, Any]) -> None:
    """Search results, one a line with its place, and the first line of what it says."""
    for result in found["results"]:
        place = f"{result['file_path']}:{result['line_start']}"
        print(printable(f"{result['entity_name']}  ({result['entity_type']})  {place}"))
        summary = str(result.get("signature") or result.get("description") or "").strip()
        if summary:
            print(f"    {printable(summary.splitlines()[0])}")
    total, page, pages = int(found["total_hits"]), int(found["page"]) + 1, int(found["pages"])
    if not total:
        print("Nothing found.")
    elif page > pages:
        print(f"{total} found; page {page} is past the last, which is {pages}.")
    else:
        print(f"{total} found, page {page} of {pages}.")


def show_suggestions(names: list[str]) -> None:
    """One name a line; that there are none goes to standard error, where no script reads it."""
    for name in names:
        print(printable(name))
    if not names:
        say("No suggestions.")


def show_json(value: dict[str, Any]) -> None:
    """The answer as it came."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show_gaps(gaps: list[dict[str, Any]]) -> None:
    """Coverage gaps, the newest first, each question once with how often it was asked.

    The question's words where the deployment keeps them, else the titles that came nearest.
    """
    times = Counter(str(gap.get("fingerprint")) for gap in gaps)
    shown: set[str] = set()
    for gap in gaps:
        fingerprint = str(gap.get("fingerprint"))
        if fingerprint in shown:
            continue
        shown.add(fingerprint)
        # A question of several lines is one line here.
        print(" ".join(printable(_gap(gap, times[fingerprint])).split("\n")))
    if not gaps:
        print("No coverage gaps.")


def _gap(gap: dict[str, Any], times: int) -> str:
    parts = [str(gap.get("at") or "?"), str(gap.get("reason") or "?").replace("_", " ")]
    limits = [str(gap[name]) for name in ("repository", "language") if gap.get(name)]
    if limits:
        parts.append(f"in {', '.join(limits)}")
    if times > 1:
        parts.append(f"{times} times")
    nearest = "; ".join(str(title) for title in gap.get("nearest") or ())
    if gap.get("question"):
        parts.append(str(gap["question"]))
    elif nearest:
        parts.append(f"nearest: {nearest}")
    else:
        parts.append(f"question {gap.get('fingerprint') or '?'} (its words are not kept)")
    return "  ".join(parts)
