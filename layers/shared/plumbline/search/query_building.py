"""A plain-words question as the parameters of a keyword query. Pure.

A keyword engine counts matched words and weighs them all alike. So the words that any question
has are left out, the rest are optional, words of the reader's language are cut to the stem that
code shares with them ("iterating" finds ``iterate`` and ``iterator``), and what is rare in code
counts twice, a code name three times: the engine counts a word as often as the query has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_QUERY_BYTES = 512
# A plain word, and one that is rarely met in code; a name that only code has.
_COMMON, _RARE, _NAME = 1, 2, 3

# English that says nothing of the code. Words that do ("all", "not", "before") are not here.
_DROPPED = frozenset(
    """a about am an and any are as at be because been being but by can cannot could did do does
    doing for from had has have having he her here hers him his how i if in is it its itself just
    may me might must my myself of on or our ours ourselves please shall she should so some such
    than that the their theirs them themselves then there these they this those through to too us
    use used using very was way we were what when where which while who whom whose why will with
    would you your yours""".split()  # noqa: SIM905
)
# The languages of the index: that is what the language filter is for.
_LANGUAGES = frozenset(
    """bash c csharp cpp golang java javascript js kotlin php py python python2 python3 ruby rust
    scala swift terraform ts typescript""".split()  # noqa: SIM905
)
# The words that more than 8 % of the records of the Python standard library and its usual
# packages have, counted with what begins like them.
_FREQUENT = frozenset(
    """add arg arguments assert async base call called check class code convert data def dict
    else encode encoding error errors except exception exceptions false file files format func
    function functions get id import index init input int key length line list lists make method
    methods module name names new no none not number obj object objects open pass path print
    process raise read result return returns run self send set size start str string strings test
    tests true try type types value values write""".split()  # noqa: SIM905
)
_SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ied", "ies", "ed", "es")
_LATE_SUFFIXES = ("ers", "er", "able", "s")
_MIN_STEM = 4
_DOUBLED = re.compile(r"([^aeiouls])\1$")
# In backticks; with an underscore or a dot or a call's bracket inside; in camelCase.
_CODE_NAME = re.compile(
    r"`([^`\n]{1,200})`"
    r"|\b([A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+)"
    r"|\b(\w*[A-Za-z0-9]_\w*[A-Za-z0-9]\w*|_\w+)\b"
    r"|\b([A-Za-z]\w*)\(\)"
    r"|\b([a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+)\b"
)
_WORD = re.compile(r"[^\W_]+")
_CAMEL_EDGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class BuiltQuery:
    """The words to send as ``query``, and those of them to send as ``optionalWords``.

    ``parameters`` are the others that go with them.
    """

    query: str
    optional_words: tuple[str, ...] = ()
    query_type: str = "prefixLast"
    min_proximity: int = 1
    attribute_criterion: str = "best"

    def parameters(self) -> dict[str, object]:
        """The query's own parameters by Algolia's names, to be laid over the usual ones."""
        return {
            "query": self.query,
            "optionalWords": list(self.optional_words),
            "queryType": self.query_type,
            "minProximity": self.min_proximity,
            "attributeCriteriaComputedBy": self.attribute_criterion,
        }


def build_query(question: str) -> BuiltQuery:
    """The query of a question; one or two words, or code alone, go as they were typed.

    Source: seed 002, "Query parameters"; how it was chosen: docs/search.md.
    """
    if not is_plain_words(question):
        return BuiltQuery(_cut(question.split()))
    weights: dict[str, int] = {}
    for name in code_names(question):
        for word in _name_words(name):
            weights[word] = _NAME
    for raw in _WORD.findall(_CODE_NAME.sub(" ", question)):
        word = raw.lower()
        if word in _DROPPED or word in _LANGUAGES or len(word) < 2:
            continue
        weights.setdefault(_stem(word), _COMMON if word in _FREQUENT else _RARE)
    if not weights:
        return BuiltQuery(_cut(question.split()))
    # The first of each word, then the repeats: what the 512 bytes cut off are repeats.
    words = [word for repeat in range(_NAME) for word, weight in weights.items() if weight > repeat]
    query = _cut(words)
    return BuiltQuery(
        query,
        tuple(dict.fromkeys(query.split())),
        # Stems are prefixes. Words that stand far apart in a sentence need not be near in code;
        # where they stand (a name, its description, the body) says more.
        query_type="prefixAll",
        min_proximity=7,
        attribute_criterion="sum",
    )


def build_typed_query(question: str) -> BuiltQuery:
    """The query of a question for an index in neural mode, where a model reads the words as
    typed: a sentence goes whole, none of its words required; a name goes as in ``build_query``.
    """
    query = _cut(question.split())
    if not is_plain_words(question):
        return BuiltQuery(query)
    words = tuple(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    # Whole words and no prefixes: only then are stop words left out of the keywords.
    return BuiltQuery(query, words, "prefixNone", min_proximity=7, attribute_criterion="sum")


def is_plain_words(question: str) -> bool:
    """Whether the text reads as a sentence and not as a name or a fragment of one."""
    words = question.split()
    return len(words) > 2 or any(word.lower() in _DROPPED for word in words[:1])


def names_asked_for(question: str) -> str:
    """The names of code that a sentence is about, where it says little else; empty elsewhere.

    "What does raise_for_status do?" is about a name. A sentence with more than one telling word
    beside its names is about what those words say.
    """
    if not is_plain_words(question):
        return ""
    beside = (raw.lower() for raw in _WORD.findall(_CODE_NAME.sub(" ", question)))
    telling = [word for word in beside if len(word) > 1 and word not in _DROPPED | _LANGUAGES]
    return "" if len(telling) > 1 else " ".join(dict.fromkeys(code_names(question)))


def code_names(question: str) -> Iterator[str]:
    """The names in a question that only code has, in their order, without backticks or brackets."""
    for match in _CODE_NAME.finditer(question):
        yield next(group for group in match.groups() if group is not None)


def _name_words(name: str) -> Iterator[str]:
    """A name's words as the index has them: whole between separators, and by camelCase."""
    for whole in _WORD.findall(name):
        parts = _CAMEL_EDGE.split(whole)
        yield whole.lower()
        if len(parts) > 1:
            yield from (part.lower() for part in parts if len(part) > 1)


def _stem(word: str) -> str:
    """The beginning that the forms of an English word share; short words stay whole."""
    for suffix in (*_SUFFIXES, *_LATE_SUFFIXES):
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            stem = word[: -len(suffix)]
            return stem[:-1] if _DOUBLED.search(stem) else stem
    return word[:-1] if len(word) >= 6 and word[-1] in "ey" else word


def _cut(words: list[str]) -> str:
    """As many of the words as 512 bytes hold."""
    kept: list[str] = []
    size = -1
    for word in words:
        size += len(word.encode("utf-8", "surrogatepass")) + 1
        if size > MAX_QUERY_BYTES:
            break
        kept.append(word)
    return " ".join(kept)
