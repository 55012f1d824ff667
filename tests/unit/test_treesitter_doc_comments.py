"""The comment that belongs to a definition, and its first sentence."""

from __future__ import annotations

import pytest

from plumbline.index.parsing.doc_comments import comment_before, describe, sentence


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("/** Reads it. Then more. */", "Reads it."),
        ("/**\n * Reads\n * a file.\n * @param path where\n */", "Reads a file."),
        ("/**\n * @brief Opens it.\n */", "Opens it."),
        ("/**\n * @param only tags\n */", ""),
        ("/** See {@link Store#find the finder}, e.g. here. No. */", "See the finder, e.g. here."),
        ("/**\n * <p>Marks <b>up</b>.\n */", "Marks up."),
        ('/// <summary>\n/// Gets <see cref="T:A.B"/>.\n/// </summary>', "Gets A.B."),
        ("/// Uses [`Text`](crate::Text).\n///\n/// # Errors", "Uses `Text`."),
        ("//! Inner words", "Inner words"),
        ("# rubocop:disable all\n# Sings.", "Sings."),
        ("// eslint-disable-next-line\n// -----", ""),
        ("// Version 1.2 of it is out", "Version 1.2 of it is out"),
        ("/***** Title *****/", "Title"),
        ("/* plain */", "plain"),
        ("// First paragraph\n//\n// Second.", "First paragraph"),
        ("///<summary>Short.</summary>", "Short."),
        ("///< Trailing style", "Trailing style"),
        ("/** {@inheritDoc} */", ""),
        ("/** Is **very** bold */", "Is very bold"),
        ("", ""),
    ],
)
def test_describes_in_a_sentence(comment: str, expected: str) -> None:
    assert describe(comment) == expected


@pytest.mark.parametrize(
    ("before", "style", "expected"),
    [
        (b"// one\n// two\n", "slash", "// one\n// two"),
        (b"// apart\n\n", "slash", ""),
        (b"/** far */\n\n", "slash", "/** far */"),
        (b"/* far */\n\n", "slash", ""),
        (b"int x; // of x\n", "slash", ""),
        (b"int x; /* of x */\n", "slash", ""),
        (b"# hash\n", "hash", "# hash"),
        (b"# hash\n", "slash", ""),
        (b"# a\n// b\n", "any", "# a\n// b"),
        (b"", "slash", ""),
        (b"code();\n", "slash", ""),
    ],
)
def test_finds_the_comment_that_touches(before: bytes, style: str, expected: str) -> None:
    source = before + b"def f"
    assert comment_before(source, len(before), style) == expected


def test_reads_docstrings() -> None:
    assert sentence("\n    Reads it.\n\n    :param x: no\n    ") == "Reads it."
    assert sentence("Two lines\nof one sentence. And more.") == "Two lines of one sentence."
