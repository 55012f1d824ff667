"""The parameters of one search: the settings' values under the request's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devstack.engine.errors import BadRequest
from devstack.engine.schema import BOTH, QUERY_PARAMETERS, check_all, expand_params_string
from devstack.engine.settings import Settings

MAX_QUERY_BYTES = 512
MAX_PAGINATION = 20000


@dataclass(frozen=True)
class SearchParameters:
    """One search, every value resolved. ``values`` keeps the rest by Algolia's names."""

    query: str
    page: int
    hits_per_page: int
    offset: int | None
    length: int | None
    values: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """A parameter by Algolia's name."""
        value = self.values.get(name)
        return default if value is None else value

    def flag(self, name: str) -> bool:
        """A boolean parameter, false where it was not given."""
        return bool(self.values.get(name, False))

    def english(self, name: str) -> bool:
        """Whether a language feature (true, or a list of languages) is on for English.

        True means ``queryLanguages``, and all languages where that is empty.
        """
        value = self.values.get(name, False)
        if isinstance(value, list):
            return "en" in value
        languages = self.values.get("queryLanguages") or ["en"]
        return value in (True, "true") and "en" in languages

    def strings(self, name: str) -> list[str]:
        """A list-of-strings parameter, empty where it was not given."""
        value = self.values.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(value)
        raise BadRequest(f'Invalid value for "{name}" parameter, expected an array of strings')

    def distinct(self, settings: Settings) -> int:
        """How many hits of one group are kept; 0 when grouping is off."""
        value = self.values.get("distinct", 0)
        if not isinstance(value, int) or not 0 <= value <= 4:
            raise BadRequest('Invalid value for "distinct" parameter, expected a boolean or 0 to 4')
        return int(value) if settings.get("attributeForDistinct") else 0


def resolve(body: Mapping[str, Any], settings: Settings) -> SearchParameters:
    """Parameters from a request body. ``BadRequest`` for what Algolia would refuse.

    Source: facts, "Semantics" (512 bytes of query, 1000 hits a page).
    """
    given = check_all(expand_params_string(body), QUERY_PARAMETERS)
    inherited = {name: value for name, value in settings.given.items() if name in BOTH}
    values = {**inherited, **given}
    query = values.get("query", "")
    if len(query.encode()) > MAX_QUERY_BYTES:
        raise BadRequest(f"The query is too long, max allowed is {MAX_QUERY_BYTES} bytes")
    return SearchParameters(
        query=query,
        page=values.get("page", 0),
        hits_per_page=values.get("hitsPerPage", settings.get("hitsPerPage")),
        offset=values.get("offset"),
        length=values.get("length"),
        values=values,
    )
