"""Questions about versioned documentation: clean ones, and such as several pages answer.

They are made from the pages' own titles, descriptions and headings; no boost is looked at.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from evals.versioned_docs import NEWEST, Page, by_place

ROUNDS = 3
MAX_QUESTIONS = 60
VERSIONS = ("v2", "v3", NEWEST)

Group = Literal["clean, own version", "clean, other version", "ambiguous version", "ambiguous area"]
GROUPS: tuple[Group, ...] = get_args(Group)
Signals = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Question:
    """One question in ``ROUNDS`` wordings; what its reader works with; the relevant records."""

    group: Group
    wordings: tuple[str, ...]
    signals: Signals
    relevant: frozenset[str]


def make_questions(pages: list[Page]) -> list[Question]:
    """All questions: pages that stand in one place only, in several versions, in several areas."""
    places = by_place(pages)
    kinds = (*_clean(pages), _ambiguous_versions(places), _ambiguous_areas(pages))
    return [question for kind in kinds for question in _spread(kind)]


def _spread(questions: list[Question]) -> list[Question]:
    """At most ``MAX_QUESTIONS`` of them, evenly."""
    step = max(1.0, len(questions) / MAX_QUESTIONS)
    return [questions[int(n * step)] for n in range(min(len(questions), MAX_QUESTIONS))]


def _ambiguous_versions(places: Mapping[str, list[Page]]) -> list[Question]:
    """The page stands in several versions; the reader works with one of them, each in turn."""
    several = [versions for _, versions in sorted(places.items()) if len(versions) > 1]
    questions = []
    for number, versions in enumerate(several):
        page = sorted(versions, key=lambda each: each.version)[number % len(versions)]
        signals = {"product": page.version}
        questions.append(Question("ambiguous version", _wordings(page), signals, _ids(page)))
    return questions


def _ambiguous_areas(pages: list[Page]) -> list[Question]:
    """Pages of one title in several areas of one version (tools for servers, and for clients)."""
    titles: dict[tuple[str, str], list[Page]] = defaultdict(list)
    for page in pages:
        titles[(page.version, page.title.casefold())].append(page)
    questions = []
    for _, same in sorted(titles.items()):
        if len({page.area for page in same}) < 2:
            continue
        for page in same:
            signals: Signals = {"product": page.version, "architecture_concepts": (page.area,)}
            wordings = tuple(wording.replace(page.area, "") for wording in _wordings(page))
            questions.append(Question("ambiguous area", wordings, signals, _ids(page)))
    return questions


def _clean(pages: list[Page]) -> tuple[list[Question], list[Question]]:
    """A heading that no other page has, asked for by a reader of its version, and of another."""
    counts = Counter(heading.casefold() for page in pages for heading in set(page.headings))
    own: list[Question] = []
    other: list[Question] = []
    for page in pages:
        unique = [h for h in page.headings if counts[h.casefold()] == 1 and len(h.split()) > 2]
        relevant = frozenset(
            str(record["objectID"])
            for record in page.records
            if unique and _is_under(record, unique[0])
        )
        if not relevant:
            continue
        wordings = (
            unique[0],
            f"How is {unique[0]} done?",
            f"Where is {unique[0]} explained for {page.title}?",
        )
        foreign = [version for version in VERSIONS if version != page.version]
        wrong = foreign[len(other) % len(foreign)]
        own.append(Question("clean, own version", wordings, {"product": page.version}, relevant))
        other.append(Question("clean, other version", wordings, {"product": wrong}, relevant))
    return own, other


def _wordings(page: Page) -> tuple[str, ...]:
    """Three ways to ask for a page, none of which names its version."""
    first = next((heading for heading in page.headings), page.title)
    return (
        f"How does {page.title} work?",
        page.description or page.title,
        f"Where is {first} of {page.title} explained?",
    )


def _is_under(record: Mapping[str, object], heading: str) -> bool:
    path = record.get("heading_path")
    parts = path if isinstance(path, list) else []
    return heading in (record.get("entity_name"), *parts)


def _ids(page: Page) -> frozenset[str]:
    return frozenset(str(record["objectID"]) for record in page.records)
