"""Numbers as values."""

from __future__ import annotations

import pytest

from plumbline.audit.values import ValueSet, values


@pytest.mark.parametrize(
    "same",
    [
        ("4.5 million", "4,500,000", "4.5M", "4500000", "4.5m"),
        ("30%", "30 percent", "30 per cent", "thirty percent"),
        ("3x", "3 times", "3-fold", "three times", "tripled", "3×"),
        ("$12,000", "USD 12,000", "12,000 dollars", "$12k", "US$12000"),
        ("2 billion", "2bn", "2,000,000,000"),
        ("250 ms", "250 milliseconds", "250ms"),
        ("March 5, 2024", "5 March 2024", "2024-03-05", "5th of March 2024"),
        ("one thousand", "1,000", "1k"),
    ],
)
def test_one_value_in_many_dresses(same: tuple[str, ...]) -> None:
    known = ValueSet.of(f"It was {same[0]} then.")
    for other in same[1:]:
        found = list(values(f"It was {other} then."))
        assert found, other
        assert all(known.has(value) for value in found), other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("4.5 million", "4.5 billion"),
        ("30%", "31%"),
        ("30%", "30x"),
        ("$30", "€30"),
        ("250 ms", "250 s"),
        ("2024-03-05", "2024-05-03"),
        ("1,000", "1.000"),
    ],
)
def test_values_that_differ(one: str, other: str) -> None:
    known = ValueSet.of(f"It was {one} then.")
    assert not all(known.has(value) for value in values(f"It was {other} then."))


def test_what_measures_and_what_does_not() -> None:
    text = "In 2021 one of them grew 30%, to 4.5 million, with 12 shops, since 2021-03-04."
    assert [v.text for v in values(text) if v.metric] == ["30%", "4.5 million", "12"]
