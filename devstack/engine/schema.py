"""The names, kinds and ranges of Algolia's search parameters and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from devstack.engine.errors import BadRequest

# name -> kind. A kind is "bool", "str", "strings", "any", "lo..hi" for an integer, or choices
# separated by "|", where true and false stand for the JSON booleans too.
BOTH: Mapping[str, str] = {
    "advancedSyntax": "bool",
    "advancedSyntaxFeatures": "strings",
    "allowTyposOnNumericTokens": "bool",
    "alternativesAsExact": "strings",
    "attributeCriteriaComputedBy": "best|minProximity|sum",
    "attributeCriteriaComputedByMinProximity": "bool",
    "attributesToHighlight": "strings",
    "attributesToRetrieve": "strings",
    "attributesToSnippet": "strings",
    "decompoundQuery": "bool",
    "disableExactOnAttributes": "strings",
    "disableTypoToleranceOnAttributes": "strings",
    "distinct": "any",
    "enablePersonalization": "bool",
    "enableReRanking": "bool",
    "enableRules": "bool",
    "exactOnSingleWordQuery": "attribute|none|word",
    "highlightPostTag": "str",
    "highlightPreTag": "str",
    "hitsPerPage": "0..1000",
    "ignorePlurals": "any",
    "maxValuesPerFacet": "1..1000",
    "minProximity": "1..7",
    "minWordSizefor1Typo": "0..1000",
    "minWordSizefor2Typos": "0..1000",
    "mode": "keywordSearch|neuralSearch",
    "optionalWords": "any",
    "queryLanguages": "strings",
    "queryType": "prefixLast|prefixAll|prefixNone",
    "ranking": "strings",
    "reRankingApplyFilter": "any",
    "relevancyStrictness": "0..100",
    "removeStopWords": "any",
    "removeWordsIfNoResults": "none|lastWords|firstWords|allOptional",
    "renderingContent": "any",
    "replaceSynonymsInHighlight": "bool",
    "responseFields": "strings",
    "restrictHighlightAndSnippetArrays": "bool",
    "semanticSearch": "any",
    "snippetEllipsisText": "str",
    "sortFacetValuesBy": "count|alpha",
    "typoTolerance": "true|false|min|strict",
}
QUERY_ONLY: Mapping[str, str] = {
    "analytics": "bool",
    "analyticsTags": "strings",
    "aroundLatLng": "str",
    "aroundLatLngViaIP": "bool",
    "aroundPrecision": "any",
    "aroundRadius": "any",
    "clickAnalytics": "bool",
    "cursor": "str",
    "enableABTest": "bool",
    "facetFilters": "any",
    "facetingAfterDistinct": "bool",
    "facets": "strings",
    "filters": "str",
    "getRankingInfo": "bool",
    "insideBoundingBox": "any",
    "insidePolygon": "any",
    "length": "0..1000",
    "maxFacetHits": "1..100",
    "minimumAroundRadius": "1..1000000000",
    "naturalLanguages": "strings",
    "numericFilters": "any",
    "offset": "0..1000000",
    "optionalFilters": "any",
    "page": "0..1000000000",
    "percentileComputation": "bool",
    "personalizationImpact": "0..100",
    "query": "str",
    "restrictSearchableAttributes": "strings",
    "ruleContexts": "strings",
    "similarQuery": "str",
    "sumOrFiltersScores": "bool",
    "synonyms": "bool",
    "tagFilters": "any",
    "userToken": "str",
}
SETTINGS_ONLY: Mapping[str, str] = {
    "allowCompressionOfIntegerArray": "bool",
    "attributeForDistinct": "str",
    "attributesForFaceting": "strings",
    "attributesToTransliterate": "strings",
    "camelCaseAttributes": "strings",
    "customNormalization": "any",
    "customRanking": "strings",
    "decompoundedAttributes": "any",
    "disablePrefixOnAttributes": "strings",
    "disableTypoToleranceOnWords": "strings",
    "indexLanguages": "strings",
    "keepDiacriticsOnCharacters": "str",
    "maxFacetHits": "1..100",
    "numericAttributesForFiltering": "strings",
    "paginationLimitedTo": "0..20000",
    "replicas": "strings",
    "searchableAttributes": "strings",
    "separatorsToIndex": "str",
    "unretrievableAttributes": "strings",
    "userData": "any",
    "version": "any",
}
QUERY_PARAMETERS: Mapping[str, str] = {**BOTH, **QUERY_ONLY}
SETTINGS: Mapping[str, str] = {**BOTH, **SETTINGS_ONLY}


def checked(name: str, value: Any, kind: str) -> Any:
    """The value in its canonical form, or ``BadRequest`` that says what was expected."""
    if kind == "any":
        return value
    if kind == "bool":
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise _invalid(name, "a boolean")
    if kind == "str":
        if isinstance(value, str):
            return value
        raise _invalid(name, "a string")
    if kind == "strings":
        if isinstance(value, str):
            return [part.strip() for part in value.split(",") if part.strip()]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return list(value)
        raise _invalid(name, "an array of strings")
    if ".." in kind:
        return _integer(name, value, kind)
    text = str(value).lower() if isinstance(value, bool) else value
    if text in kind.split("|"):
        return text
    raise _invalid(name, f"one of {', '.join(kind.split('|'))}")


def _integer(name: str, value: Any, kind: str) -> int:
    low, high = (int(end) for end in kind.split(".."))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _invalid(name, f"an integer between {low} and {high}")
    return value


def _invalid(name: str, expected: str) -> BadRequest:
    return BadRequest(f'Invalid value for "{name}" parameter, expected {expected}')


def check_all(
    values: Mapping[str, Any], kinds: Mapping[str, str], what: str = "parameter"
) -> dict[str, Any]:
    """Every value checked; an unknown name is refused as Algolia refuses it; nulls are left out."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        kind = kinds.get(name)
        if kind is None:
            raise BadRequest(f"Unknown {what}: {name}")
        if value is not None:
            result[name] = checked(name, value, kind)
    return result


def well_formed(value: Any) -> Any:
    """The value without lone surrogates, which JSON can spell and UTF-8 cannot."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return value


def expand_params_string(body: Mapping[str, Any]) -> dict[str, Any]:
    """A body with its URL-encoded ``params`` string spread out: the older wire form."""
    values = {name: value for name, value in well_formed(body).items() if name != "params"}
    encoded = body.get("params")
    if encoded is None:
        return values
    if not isinstance(encoded, str):
        raise _invalid("params", "a URL-encoded string")
    for name, text in parse_qsl(encoded, keep_blank_values=True):
        value: Any = text
        if text[:1] in "[{" and text:
            try:
                value = json.loads(text)
            except ValueError:
                value = text
        values[name] = value
    return values
