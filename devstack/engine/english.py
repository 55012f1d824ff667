"""The English that ``ignorePlurals`` and ``removeStopWords`` need."""

from __future__ import annotations

# Function words of English. Algolia does not publish its list; this is the usual closed class.
STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn did didn do does doesn
    doing don down during each few for from further had hadn has hasn have haven having he
    her here hers herself him himself his how i if in into is isn it its itself just ll me
    might more most must my myself no nor not now of off on once only or other our ours
    ourselves out over own re s same shall she should shouldn so some such t than that the
    their theirs them themselves then there these they this those through to too under until
    up upon us ve very was wasn we were weren what when where which while who whom whose why
    will with won would wouldn you your yours yourself yourselves
    """.split()  # noqa: SIM905
)

_IRREGULAR = {
    "child": "children",
    "criterion": "criteria",
    "datum": "data",
    "foot": "feet",
    "half": "halves",
    "index": "indices",
    "leaf": "leaves",
    "man": "men",
    "matrix": "matrices",
    "medium": "media",
    "mouse": "mice",
    "person": "people",
    "shelf": "shelves",
    "tooth": "teeth",
    "vertex": "vertices",
    "woman": "women",
}
_SINGULAR = {plural: singular for singular, plural in _IRREGULAR.items()}
# Words in -s that are no plurals.
_UNCHANGED = frozenset(
    """
    access alias always bus class has is news process series this us was
    """.split()  # noqa: SIM905
)


def inflections(word: str) -> set[str]:
    """The other number of an English noun: candidates, to be kept if the index knows them.

    Source: design of ``ignorePlurals``: parsers matches parser and the other way round.
    """
    if len(word) < 3 or not word.isalpha():
        return set()
    forms = {_IRREGULAR.get(word, ""), _SINGULAR.get(word, "")}
    if word.endswith("ies") and len(word) > 4:
        forms |= {word[:-3] + "y", word[:-1]}
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        forms |= {word[:-2], word[:-1]}
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _UNCHANGED:
        forms.add(word[:-1])
    elif word.endswith(("s", "x", "z", "ch", "sh")):
        forms.add(word + "es")
    elif word.endswith("y") and word[-2] not in "aeiou":
        forms.add(word[:-1] + "ies")
    else:
        forms.add(word + "s")
    return forms - {"", word}
