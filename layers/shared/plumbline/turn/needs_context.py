"""Whether a message can be searched for as it stands, or only with what went before.

Source: design, decisions 2 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from plumbline.turn.language_model import Message
from plumbline.turn.phrases import plain_words

_FILLER = re.compile(r"^(?:(?:btw|by the way|well|hmm+|ah|oh|great|thanks|thank you)[,.!]+\s*)+")
# Openings that continue what was said.
_CONTINUES = re.compile(
    "|".join(
        [
            r"(?:and|or|but|so|also|then|plus)\b",
            r"(?:ok|okay|yes|no|right),? (?:and|but|so)\b",
            r"(?:what|how) about\b",
            r"what if (?:it|they|that|this|i do|not)\b",
            r"same (?:for|with|thing|question)\b",
            r"(?:why|when|where|how|who|what|how so|how come|really|why not|which ones?)\s*\?*$",
            r"(?:(?:more )?details?|more|more please|go on|continue|next|explain)[\s.!?]*$",
            r"(?:again|elaborate|(?:an )?examples?|example please)[\s.!?]*$",
            r"(?:show me|(?:tell me|say) more|thanks|thank you)[\s.!?]*$",
            r"(?:can|could|would) you (?:please )?(?:elaborate|expand|explain more|clarify)\b",
            r"(?:can|could|would) you (?:please )?(?:rephrase|repeat|go on|continue|simplify)\b",
            r"(?:can|could|would) you (?:please )?summari[sz]e\b",
            r"(?:(?:can|could|would) you )?(?:please )?(?:give|show) me"
            r" (?:an?(?:other)?|some|more|the) (?:examples?|details?|code)"
            r"(?: of (?:it|that|this|them))?[\s.!?]*$",
            r"(?:any|other|another|more) (?:other )?(?:examples?|options?|ways?)[\s.!?]*$",
            r"(?:is|are|was|were|does|do|did|can|could|will|would|should)"
            r" (?:it|they|that|those|these|this)\b",
            r"(?:in|for|with|on|using) [\w+#.]+(?: [\w+#.]+)?\s*\?+$",
        ]
    )
)
# Words that stand for something said before.
_REFERS = re.compile(
    "|".join(
        [
            r"\b(?:it|its|they|them|their|theirs|he|she|him|her|those|these)\b",
            r"\bthe (?:first|second|third|last|former|latter|other|above|previous)"
            r"(?: (?:one|option|example|way|approach|point|thing)\b|(?=\s*(?:[?.!,;]|$)))",
            r"\b(?:that one|this one|that way|which one)\b",
            r"\bthe same (?:thing|way|approach|works?|appl(?:y|ies))\b|\bdo the same\b",
            r"\byour (?:answer|last|previous|example|code)\b",
            r"\byou (?:said|say|mention(?:ed)?|wrote|suggested|showed|listed|described)\b",
        ]
    )
)
_AFTER_THAT = "|".join(
    (
        *("works?", "means?", "happens?", "do(?:es)?", "affects?", "appl(?:y|ies)", "helps?"),
        *("compares?", "differs?", "relates?", "handles?", "scales?", "fails?", "changes?"),
        *("is", "was", "would", "could", "can", "used", "called", "too", "either", "instead"),
        *("in", "with", "for", "to", "on", "from", "value", "field", "command", "line"),
        *("error", "function", "method", "class", "file", "code", "setting", "option"),
        *("parameter", "approach", "example", "case", "feature", "product", "page", "one", "way"),
    )
)
# "that" and "this", where they end a thought, or point at a thing that was shown.
_THAT = re.compile(rf"\b(?:that|this)(?=\s*(?:[?.!,;]|$)|\s+(?:{_AFTER_THAT})\b)")
# "that" that opens a clause refers to nothing: "the function that parses this file".
_RELATIVE_THAT = re.compile(
    r"\b(?!(?:does|is|was|can|could|would|will|do|did|for|with|of|about|to|in|on|like) )"
    r"\w+ that (?:\w+s|is|are|was|were|has|have|can|will)\b"
)
# "it" with nothing to refer to: "is it possible to ...", "how long does it take to ...".
_EMPTY_IT = re.compile(
    "|".join(
        [
            r"\b(?:is|was|would|will|isn't) it (?:\w+ )?(?:possible|necessary|safe|better|best)\b",
            r"\b(?:is|was|would|will|isn't) it (?:\w+ )?(?:worth|okay|ok|easy|hard|required)\b",
            r"\b(?:is|was|would|will|isn't) it (?:\w+ )?(?:allowed|recommended|true|bad|good)\b",
            r"\b(?:is|was|would|will|isn't) it (?:\w+ )?(?:common|enough|normal)\b",
            r"\b(?:does|will|would) it (?:take|cost|make sense|matter)\b",
            r"\bmake it (?:possible|easier|so)\b",
            r"\bwhat does it (?:take|mean) to\b",
            r"\bhow is it that\b",
            r"\bit (?:is|seems|turns out|looks)\b",
        ]
    )
)
# A name that "it" can stand for inside the same message: code, or a capital within a sentence.
_OWN_REFERENT = re.compile(
    r"`[^`]+`|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b\w+_\w+\b|(?<=[a-z,] )[A-Z]\w+"
)
_PRONOUN = re.compile(r"it|its|they|them|their|these|those")
_CLAUSE = re.compile(r"[,;.:]|\b(?:and|when|if|while|that)\b")
_SHORT_WORDS = 2


def needs_context(query: str, *, has_history: bool = True) -> bool:
    """Whether the words cannot stand alone, so that retrieval must wait for the extraction.

    True for a message that continues ("and for Go?"), or refers to something that it does not
    name itself ("how does it work?"). Always False without a history to look back on.
    """
    if not has_history:
        return False
    words = _FILLER.sub("", plain_words(query))
    if not words:
        return True
    text = _RELATIVE_THAT.sub(" ", _EMPTY_IT.sub(" ", words))
    if _CONTINUES.match(text.lstrip()):
        return True
    if len(words.split()) <= _SHORT_WORDS and not _OWN_REFERENT.search(query):
        # "Rust?" continues; "rate limits" is a query.
        return words.endswith("?") and len(words.split()) == 1
    reference = _REFERS.search(text) or _THAT.search(text)
    if reference is None:
        return False
    return not _stands_for_own_words(query, text, reference)


def with_previous_question(query: str, history: Sequence[Message]) -> str:
    """The reader's last question and this one: what a follow-up's keywords are without a model.

    The raw words stay the query; these serve the ladder's last rung, where words are optional.
    """
    previous = next((m.content for m in reversed(history) if m.role == "user"), "")
    return " ".join(f"{previous} {query}".split())


def _stands_for_own_words(query: str, text: str, reference: re.Match[str]) -> bool:
    """Whether a pronoun has something to stand for earlier in the same message."""
    word, before = reference.group(), text[: reference.start()]
    if not _PRONOUN.fullmatch(word):
        return False
    # "log a variable without knowing its type"
    if word in ("its", "their") and len(before.split()) >= 3:
        return True
    own = _OWN_REFERENT.search(query)
    if own is not None and own.start() < len(query) * reference.start() / max(len(text), 1):
        return True
    # "If a token expires, how is it renewed?": a clause with a noun of its own comes first.
    return len(before.split()) >= 5 and bool(_CLAUSE.search(before))
