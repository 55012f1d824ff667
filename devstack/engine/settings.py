"""The settings of an index: checked, stored as given, and read through parsed views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devstack.engine.errors import BadRequest
from devstack.engine.schema import SETTINGS, check_all, well_formed

CRITERIA = ("typo", "geo", "words", "filters", "proximity", "attribute", "exact", "custom")
# What GET settings answers for an index whose settings were never written.
DEFAULTS: Mapping[str, Any] = {
    "minWordSizefor1Typo": 4,
    "minWordSizefor2Typos": 8,
    "hitsPerPage": 20,
    "maxValuesPerFacet": 100,
    "searchableAttributes": None,
    "attributesToRetrieve": None,
    "unretrievableAttributes": None,
    "optionalWords": None,
    "attributesForFaceting": None,
    "attributesToSnippet": None,
    "attributesToHighlight": None,
    "paginationLimitedTo": 1000,
    "attributeForDistinct": None,
    "exactOnSingleWordQuery": "attribute",
    "ranking": list(CRITERIA),
    "customRanking": None,
    "separatorsToIndex": "",
    "removeWordsIfNoResults": "none",
    "queryType": "prefixLast",
    "highlightPreTag": "<em>",
    "highlightPostTag": "</em>",
    "alternativesAsExact": ["ignorePlurals", "singleWordSynonym"],
}
_MODIFIER = re.compile(r"^(\w+)\((.+)\)$")
# A change of one of these changes what is stored for a record.
REINDEXING = frozenset(
    [
        "searchableAttributes",
        "attributesForFaceting",
        "camelCaseAttributes",
        "customRanking",
        "ranking",
        "attributeForDistinct",
        "numericAttributesForFiltering",
    ]
)


@dataclass(frozen=True, slots=True)
class SearchableAttribute:
    """One entry of ``searchableAttributes``: its name, its rank, whether position counts."""

    name: str
    rank: int
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ``asc(attribute)`` or ``desc(attribute)``."""

    attribute: str
    descending: bool


@dataclass(frozen=True)
class Settings:
    """Checked settings. ``given`` is what was written; the other fields are read from it."""

    given: Mapping[str, Any] = field(default_factory=dict)
    searchable: tuple[SearchableAttribute, ...] | None = None
    facets: Mapping[str, str] = field(default_factory=dict)
    camel_case: frozenset[str] = frozenset()
    criteria: tuple[str, ...] = CRITERIA[:-1]
    sort_keys: tuple[SortKey, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from what was written. ``BadRequest`` for a name or a value unknown."""
        checked = check_all(well_formed(given), SETTINGS, "setting")
        criteria, keys = _ranking(checked)
        searchable = checked.get("searchableAttributes")
        return cls(
            given=checked,
            searchable=_searchable(searchable) if searchable else None,
            facets=_facets(checked.get("attributesForFaceting", [])),
            camel_case=frozenset(checked.get("camelCaseAttributes", [])),
            criteria=criteria,
            sort_keys=keys,
        )

    def updated(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with others on top; a null puts a setting back to its default."""
        checked = check_all(changes, SETTINGS, "setting")
        kept = {name: value for name, value in self.given.items() if name not in changes}
        return Settings.of({**kept, **checked})

    def public(self) -> dict[str, Any]:
        """What GET settings answers."""
        return {**DEFAULTS, **self.given}

    def get(self, name: str) -> Any:
        """A setting, or its default."""
        return self.given.get(name, DEFAULTS.get(name))


def _searchable(entries: list[str]) -> tuple[SearchableAttribute, ...]:
    found: list[SearchableAttribute] = []
    for rank, entry in enumerate(entries):
        # "title,alternative_title" is one entry of two attributes with the same rank; position
        # never counts in such a group.
        names = [name.strip() for name in entry.split(",")]
        for name in names:
            modifier = _MODIFIER.match(name)
            if modifier and modifier[1] not in ("ordered", "unordered"):
                raise BadRequest(f'Invalid modifier "{modifier[1]}" in searchableAttributes')
            plain = modifier[2].strip() if modifier else name
            ordered = len(names) == 1 and not (modifier and modifier[1] == "unordered")
            found.append(SearchableAttribute(plain, rank, ordered))
    return tuple(found)


def _facets(entries: list[str]) -> dict[str, str]:
    facets: dict[str, str] = {}
    for entry in entries:
        modifier = _MODIFIER.match(entry)
        if modifier is None:
            facets[entry] = "facet"
        elif modifier[1] in ("filterOnly", "searchable", "afterDistinct"):
            inner = _MODIFIER.match(modifier[2])
            facets[inner[2] if inner else modifier[2]] = modifier[1]
        else:
            raise BadRequest(f'Invalid modifier "{modifier[1]}" in attributesForFaceting')
    return facets


def _ranking(settings: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[SortKey, ...]]:
    """The criteria in order, with each sort key as ``sort:<n>``, and the keys themselves."""
    keys: list[SortKey] = []
    criteria: list[str] = []

    def sort_key(text: str, setting: str) -> str:
        match = _MODIFIER.match(text)
        if match is None or match[1] not in ("asc", "desc"):
            raise BadRequest(f'Invalid value "{text}" in {setting}')
        keys.append(SortKey(match[2], match[1] == "desc"))
        return f"sort:{len(keys) - 1}"

    for name in settings.get("ranking") or CRITERIA:
        if name == "custom":
            criteria += [
                sort_key(text, "customRanking") for text in settings.get("customRanking") or []
            ]
        elif name in CRITERIA:
            criteria.append(name)
        else:
            criteria.append(sort_key(name, "ranking"))
    return tuple(criteria), tuple(keys)
