"""Capitalised names that may be companies, and the many that are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plumbline.audit.context import fold

_NAME = re.compile(
    r"(?<![\w.@/#-])[A-Z][\w&'’.-]*[\w&](?:\s+(?:&\s+)?(?:of\s+|the\s+)?[A-Z][\w&'’.-]*[\w&])*"
)
# Words that a sentence begins with, and words that are capitalised without being names.
# fmt: off
_NO_NAMES = frozenset((
    "gb", "mb", "kb", "tb", "ms",
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "they", "their", "there",
    "we", "our", "you", "your", "he", "she", "his", "her", "i", "in", "on", "at", "for", "from",
    "to", "of", "by", "with", "as", "after", "before", "during", "since", "until", "while",
    "when", "where", "what", "which", "who", "why", "how", "if", "then", "so", "and", "or",
    "but", "also", "however", "moreover", "additionally", "furthermore", "according", "based",
    "using", "with", "within", "without", "over", "under", "about", "across", "all", "any",
    "each", "every", "some", "many", "most", "more", "other", "another", "both", "either",
    "such", "same", "new", "note", "see", "read", "here", "january", "february", "march",
    "april", "may", "june", "july", "august", "september", "october", "november", "december",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "english",
    "yes", "no", "first", "second", "third", "finally", "overall", "similarly", "meanwhile",
    "today", "now", "customer", "customers", "company", "companies", "case", "study", "studies",
    "source", "sources", "example", "api", "ai", "url", "http", "https", "json", "sql", "html",
    "css", "aws", "sdk", "cli", "ui", "ux",
))
# fmt: on
# What a capitalised phrase ends in that is a thing, not a company ("Customer Data Platform").
# fmt: off
_THINGS = frozenset((
    "support", "success", "service", "services", "data", "experience", "care", "satisfaction",
    "portal", "journey", "retention", "lifetime", "platform", "team", "teams", "relationship",
    "management", "analytics", "insights", "options", "value", "id", "ids", "record", "records",
    "api", "index", "dashboard", "settings", "page", "plan", "plans", "feedback", "stories",
    "story",
))
# fmt: on


def capitalised_names(sentence: str) -> Iterator[str]:
    """The capitalised names of a sentence that are neither its first words nor things."""
    for match in _NAME.finditer(sentence):
        words = match[0].split()
        while words and fold(words[0]) in _NO_NAMES:
            words.pop(0)
        name = re.sub(r"['’]s\Z", "", " ".join(words))
        folded = fold(name).split()
        if len(name) < 2 or not folded or folded[-1] in _THINGS:
            continue
        if not all(word in _NO_NAMES for word in folded):
            yield name
