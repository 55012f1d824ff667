"""Lines of the prompt that a model repeats to the reader."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from plumbline.audit.markdown import survey
from plumbline.audit.regions import TooComplex

# What may stand before and around a label: list markers, headings, emphasis, brackets.
_LEAD = r"[ \t>]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)?[*_`\[(<\"' \t]*"
_TAIL = r"[*_`\])>\"' \t]*"


@lru_cache(maxsize=32)
def leak_pattern(labels: tuple[str, ...]) -> re.Pattern[str] | None:
    """What a line begins with that is one of the labels and a colon, in any decoration."""
    if not labels:
        return None
    names = "|".join(
        r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", label) if word)
        for label in sorted(labels, key=len, reverse=True)
    )
    return re.compile(rf"^{_LEAD}(?:{names}){_TAIL}[:：]", re.IGNORECASE | re.MULTILINE)


def strip_prompt_instruction_leaks(content: str, labels: Iterable[str]) -> str:
    """The content without the lines that begin with a prompt's label and a colon.

    Code stays. Source: seed 000, "stripPromptInstructionLeaks" (F-032).
    """
    pattern = leak_pattern(tuple(labels))
    if pattern is None or not pattern.search(content):
        return content
    try:
        code = survey(content).code if "`" in content or "~" in content or "    " in content else ()
    except TooComplex:
        code = ()
    kept: list[str] = []
    position = 0
    for line in re.split(r"(?<=\n)", content):
        inside = any(start <= position < end for start, end in code)
        position += len(line)
        if inside or not pattern.match(line):
            kept.append(line)
    return "".join(kept)
