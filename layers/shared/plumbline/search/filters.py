"""Algolia filter strings, with values that cannot leave their quotes."""

from __future__ import annotations

IMPORTS_LEFT_OUT = 'NOT entity_type:"import"'


def escape_filter_value(value: str) -> str:
    """The value with backslashes and double quotes escaped, to stand between double quotes.

    Source: seed 002, "Filters".
    """
    return value.replace("\\", "\\\\").replace('"', '\\"')


def search_filters(
    repository_id: int | None = None, language: str | None = None, entity_type: str | None = None
) -> str:
    """The clauses joined with AND; without an entity type, imports are left out.

    The repository is a numeric comparison: the facet form matches nothing on a number.
    Source: seed 002, "Filters".
    """
    clauses = []
    if repository_id is not None:
        clauses.append(f"repository_id={repository_id}")
    if language:
        clauses.append(f'language:"{escape_filter_value(language)}"')
    if entity_type:
        clauses.append(f'entity_type:"{escape_filter_value(entity_type)}"')
    else:
        clauses.append(IMPORTS_LEFT_OUT)
    return " AND ".join(clauses)
