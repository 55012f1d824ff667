"""Lines as a parser splits them, and their numbers as readers count them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINE_END = re.compile(r"\r\n|\n|\r")


def split_lines(text: str) -> tuple[list[str], Sequence[int]]:
    """The lines that ``\\r\\n``, ``\\n`` and a lone ``\\r`` end, and each line's 1-based number.

    Parsers take a lone ``\\r`` for a line end; editors, Git and links to a file's lines do not. A
    number is therefore the count of ``\\n`` before the line, plus 1. Form feeds, U+2028 and
    the like end no line.
    """
    if "\r" not in text:
        lines = text.split("\n")
        return lines, range(1, len(lines) + 1)
    lines = _LINE_END.split(text)
    if text.count("\r") == text.count("\r\n"):
        return lines, range(1, len(lines) + 1)
    numbers = [1]
    for end in _LINE_END.finditer(text):
        numbers.append(numbers[-1] + (end.group() != "\r"))
    return lines, numbers
