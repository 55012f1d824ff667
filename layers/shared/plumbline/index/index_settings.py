"""The index's settings. Source: seed 002, "Index settings"; design, section 6."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

# Facets beyond file 002's: what design, section 6 adds to records, and what the turn boosts by.
SECTION_FACETS = (
    "source_type",
    "customer",
    "industry_tag",
    "product_tag",
    "feature_tag",
    "solution_tag",
)

INDEX_SETTINGS: Mapping[str, object] = {
    "searchableAttributes": [
        "entity_name",
        "description",
        "content",
        "parameters",
        "file_path",
    ],
    "attributesForFaceting": [
        "filterOnly(repository_id)",
        "entity_type",
        "language",
        "file_path",
        *SECTION_FACETS,
    ],
    "camelCaseAttributes": ["entity_name"],
    "customRanking": ["asc(is_test)", "desc(rank_weight)"],
    "highlightPreTag": "<mark>",
    "highlightPostTag": "</mark>",
    "hitsPerPage": 20,
    "maxValuesPerFacet": 100,
}


class SettingsIndex(Protocol):
    """What is asked of the index for its settings."""

    def get_settings(self) -> Mapping[str, object] | None:
        """The live settings; None when there is no index."""

    def set_settings(self, settings: Mapping[str, object]) -> int:
        """Write settings; the task, which is not waited for."""


class IndexSettingsSetup:
    """Writes the settings at the start of a run, once a process, and only when they differ.

    The task is not waited for: an unchanged settings task may never be reported as published.
    """

    def __init__(self) -> None:
        self._done = False

    def setup_index_settings(self, index: SettingsIndex) -> bool:
        """Make the live settings ours; whether they were written now. Source: seed 002."""
        if self._done:
            return False
        live = index.get_settings() or {}
        differ = any(live.get(name) != value for name, value in INDEX_SETTINGS.items())
        if differ:
            index.set_settings(INDEX_SETTINGS)
        self._done = True
        return differ
