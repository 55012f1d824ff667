"""How many tokens a text may take up in a model's context, without a tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Clients refuse a tool result over 25,000 tokens; ours stay well below.
MAX_RESULT_TOKENS = 20_000

# Cut as byte-pair vocabularies cut: a word with the space before it, a run of one white space,
# and every digit and sign by itself. ``inner`` is a part of a longer word, such as User in getUser.
_PIECE = re.compile(
    r"(?P<inner>(?<=[A-Za-z0-9])(?:[A-Z]?[a-z]+|[A-Z]+))|(?P<word> ?(?:[A-Z]?[a-z]+|[A-Z]+))"
    r"|(?P<space> +|\n+|\t+|\r+)|(?P<other>[^\x00-\x7f]+)|(?P<sign>[\x00-\x7f])"
)
_LONGEST_WORD = 14


def estimated_tokens(text: str) -> int:
    """An upper estimate of the text's tokens, about twice the real number for prose and code.

    The rates were set against a public vocabulary of 65,000 tokens so that random letters, base64
    and other scripts, which cost the most, are not underestimated either.
    """
    total = 0
    for match in _PIECE.finditer(text):
        length = match.end() - match.start()
        match match.lastgroup:
            case "word" if length <= _LONGEST_WORD:
                total += -(-length // 4)
            case "word" | "inner":
                total += -(-length * 2 // 3)
            case "space":
                total += 1 + length // 16
            case "other":
                total += len(match.group().encode(errors="replace"))
            case _:
                total += 1
    return total


def count_within(costs: Iterable[int], budget: int) -> int:
    """How many of the first items fit into the budget together."""
    count = 0
    for cost in costs:
        budget -= cost
        if budget < 0:
            break
        count += 1
    return count
