"""A stream of any chunking, cut into whole paragraphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.audit.paragraphs import LONG_PARAGRAPH, ParagraphSplitter, Piece, leaves_open


def cut(text: str, sizes: list[int] | None = None) -> list[Piece]:
    splitter = ParagraphSplitter()
    pieces: list[Piece] = []
    position, turn = 0, 0
    sizes = sizes or [max(1, len(text))]
    while position < len(text):
        size = sizes[turn % len(sizes)]
        pieces.extend(splitter.feed(text[position : position + size]))
        position += size
        turn += 1
    pieces.extend(splitter.close())
    return pieces


@pytest.mark.parametrize(
    "pieces",
    [
        ["one\ntwo\n\n", "three"],
        ["one\r\n\r\n", "two\r\n"],
        ["one\r\r", "two"],
        ["\n\none\n\n\n", "two\n"],
        ["```py\na\n\nb\n```\n\n", "text"],
        ["```py\na\n\nb\n```\n", "text right behind"],
        ["~~~~\n```\n\n~~~\n~~~~\n", "text"],
        ["text\n```\na\n\nb\n```\nmore\n\n", "end"],
        ["``` a`b\n\n", "no fence\n"],
        ["- a\n\n  more of a\n\n      code\n\n", "- b\n"],
        ["1. a\n\n   b\n\n", "end"],
        ["> a\n>\n> b\n\n", "end"],
        ["| a |\n|---|\n| b |\n\n", "end"],
        ["<!-- a\n\nb -->\n\n", "end"],
        ["<pre>\n\nx\n\n</pre>\n\n", "end"],
        ["<div>\na\n\n", "b\n\n", "</div>"],
        ["[^1]: note\n\n    more note\n\n", "end"],
        ["```\nnever\n\nclosed\n\nfence"],
        ["a\n \t\n", "b"],
    ],
)
def test_where_a_stream_is_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert [piece.text for piece in cut(text)] == pieces
    assert [piece.text for piece in cut(text, [1])] == pieces


@pytest.mark.parametrize(
    ("text", "next_line", "released"),
    [
        ("one\n\n", "t", "one\n\n"),
        ("one\r\n\r\n", "- t", "one\r\n\r\n"),
        ("```py\na\n\nb\n```\n", "t", "```py\na\n\nb\n```\n"),
        # Nothing is known yet: the line may be indented, blank, or within what is open.
        ("one\n\n", "", ""),
        ("one\n\n", " ", ""),
        ("one\n\n", "\t", ""),
        ("one\n", "t", ""),
        ("```\na\n\n", "t", ""),
        ("<!-- a\n\n", "t", ""),
        ("\n\n", "t", ""),
    ],
)
def test_a_paragraph_goes_out_with_the_first_letter_of_the_next(
    text: str, next_line: str, released: str
) -> None:
    whole = ParagraphSplitter()
    assert "".join(piece.text for piece in whole.feed(text + next_line)) == released
    streamed = ParagraphSplitter()
    pieces = [piece for char in text + next_line for piece in streamed.feed(char)]
    assert "".join(piece.text for piece in pieces) == released


ALPHABET = st.sampled_from(
    ["a", "b. ", "\n", "\n\n", "\r\n", "\r", "```", "~~~", "- ", "> ", "    ", "|", "<!--",
     "-->", "[x](y)"]
)  # fmt: skip


@given(
    st.lists(ALPHABET, max_size=40).map("".join),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_the_pieces_are_the_stream_in_any_chunking(text: str, sizes: list[int]) -> None:
    pieces = cut(text, sizes)
    assert "".join(piece.text for piece in pieces) == text
    assert pieces == cut(text)


def test_a_long_paragraph_is_released_behind_sentences() -> None:
    text = "The index is fast, see `a. b`. It [works. Well](https://x.example/a. b) now. " * 2000
    pieces = cut(text, [50])
    assert "".join(piece.text for piece in pieces) == text
    assert len(pieces) > 20
    assert max(len(piece.text) for piece in pieces) < 2 * LONG_PARAGRAPH
    for piece in pieces[1:]:
        assert piece.joint == " "
        assert piece.text.startswith("The index") or piece.text.startswith("It [")


@pytest.mark.parametrize(
    "text",
    [
        "[open. " * 2000,
        "`open. " * 1999,
        "<a open. " * 2000,
        "| a. | b. " * 2000,
        "- a. b\n" * 2000,
        "no sentence " * 2000,
    ],
)
def test_a_long_paragraph_with_something_open_stays_whole(text: str) -> None:
    assert [piece.text for piece in cut(text, [999])] == [text]


def test_a_megabyte_without_a_line_end() -> None:
    text = "x" * 1_000_000
    assert [piece.text for piece in cut(text, [4096])] == [text]


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        ("```\na\n```\n", False),
        ("```\na\n", True),
        ("~~~\n```\n~~~\n", False),
        ("<!-- a", True),
        ("<!-- a -->", False),
        ("<pre>\n", True),
        ("a <!-- b", False),
        ("plain", False),
    ],
)
def test_what_is_left_open(text: str, open_: bool) -> None:
    assert leaves_open(text) is open_
