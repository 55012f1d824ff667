"""reStructuredText: sections by their underlines."""

from __future__ import annotations

import time

import pytest

from plumbline.index.entities import Entity, ParseTimeout
from plumbline.index.parsing.restructuredtext import parse_restructuredtext, plain_text

PAGE = """.. _label:

=======
 Title
=======

.. note::

   A note.

Hello ``code`` and :ref:`the guide <guide>`. More.

Sub
---

::

   Literal
   -------

====  ====
a     b
====  ====

Words
split over lines. Then.

.. _other:
Other
-----

Deep
~~~~

Tooshort
---

Ünïcode
-------

Last
====
"""


def read(text: str) -> list[Entity]:
    return parse_restructuredtext(text, path="docs/page.rst", deadline=time.monotonic() + 30)


def outline(text: str) -> list[tuple[object, int, int]]:
    return [
        (entity.extra["heading_path"], entity.line_start, entity.line_end) for entity in read(text)
    ]


def test_one_section_a_title() -> None:
    assert outline(PAGE) == [
        (["Title"], 3, 11),
        (["Title", "Sub"], 13, 28),
        (["Title", "Other"], 29, 30),
        (["Title", "Other", "Deep"], 32, 36),
        (["Title", "Ünïcode"], 38, 39),
        (["Title", "Ünïcode", "Last"], 41, 42),
    ]


def test_what_a_section_says() -> None:
    title, sub, *_ = read(PAGE)
    assert title.kind_label == "reStructuredText section"
    assert (title.name, title.signature) == ("Title", "Title")
    assert title.doc == "Hello code and the guide."
    assert title.body.startswith("=======\n Title\n=======\n")
    assert sub.qualified_name == "Title > Sub"
    assert sub.doc == "Words split over lines."
    assert sub.extra == {"title": "Title", "heading_path": ["Title", "Sub"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (".. comment\n   only\n", []),
        ("words\n", [([], 1, 1)]),
        ("words\n\nA\n=\n", [([], 1, 1), (["A"], 3, 4)]),
        # A transition, a line in a paragraph, an indented title and a table are no titles.
        ("a\n\n-----\n\nb\n", [([], 1, 5)]),
        ("a\nb\n-----\n", [([], 1, 3)]),
        ("a\n\n  B\n  ---\n", [([], 1, 4)]),
        ("a::\n\n", [([], 1, 1)]),
        ("A\n=\n\nB\n=\n", [(["A"], 1, 2), (["B"], 4, 5)]),
        ("A\n=\n\nB\n-\n\nC\n=\n", [(["A"], 1, 2), (["A", "B"], 4, 5), (["C"], 7, 8)]),
        # The same character with an overline is another style.
        ("=\nA\n=\n\nB\n=\n", [(["A"], 1, 3), (["A", "B"], 5, 6)]),
    ],
)
def test_outlines(text: str, expected: object) -> None:
    assert outline(text) == expected


def test_line_ends() -> None:
    assert outline(PAGE.replace("\n", "\r\n")) == outline(PAGE)
    assert outline("a\u2028b\x0c\n\nA\n=\n") == [([], 1, 1), (["A"], 3, 4)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (":class:`~a.b.C` and :func:`f`", "a.b.C and f"),
        (":ref:`text <label>`", "text"),
        ("`text <https://x.y>`_ and `ref`_", "text and ref"),
        ("``a`` **b** *c* |d|", "a b c d"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("``open", "``open"),
    ],
)
def test_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


def test_directives_are_never_followed() -> None:
    [section] = read(".. include:: /etc/passwd\n.. raw:: html\n   :file: /etc/passwd\n\nA\n=\n")
    assert "root:" not in section.body


def test_the_deadline_holds() -> None:
    with pytest.raises(ParseTimeout):
        parse_restructuredtext("A\n=\n" * 9_000, path="a.rst", deadline=time.monotonic() - 1)
