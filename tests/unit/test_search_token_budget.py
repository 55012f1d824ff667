"""The estimate is never below what a real vocabulary needs, and the count stops in time."""

from __future__ import annotations

import pytest

from plumbline.search.token_budget import count_within, estimated_tokens


# The tokens of these texts in a public vocabulary of 65,000, counted once with its own tokenizer.
@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("def refresh_token(session, token: str) -> str:\n    return session\n", 18),
        ("Where is the store created, and which module reads it?", 12),
        ("getUserById(XMLHttpRequest, parseJSONBody)", 10),
        ('{"id":"12_07946c80715046c23e5533f046a8e8b6c92231e5","page":0,"url":null}', 38),
        ("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", 33),
        (
            "EhtHdKdZkkopKcSkEvtuMbmqp0ZGaEDvzEp21pqUFJ4jZOOYPWRv6vqhtRF4XlyekK7cMNpqa+rVUg7MmcZiag==",
            57,
        ),
        ("検索索引の関数名を調べる", 13),
        ("Поиск по коду и документации", 15),
        ("🚀🔥🧪", 7),
        ("!=&&||<<=>>=::->=>??", 11),
        ("zqxjkvbpwgzqxjkvbpwg", 11),
        ("                    \t\t\n\n\n", 3),
    ],
)
def test_the_estimate_is_an_upper_one(text: str, real: int) -> None:
    assert real <= estimated_tokens(text) <= real * 5


@pytest.mark.parametrize(
    ("costs", "budget", "count"),
    [([], 5, 0), ([5], 5, 1), ([6], 5, 0), ([2, 2, 2], 5, 2), ([0, 0, 9, 0], 5, 2)],
)
def test_items_are_counted_until_one_does_not_fit(
    costs: list[int], budget: int, count: int
) -> None:
    assert count_within(costs, budget) == count
