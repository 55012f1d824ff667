"""Plain text: what a renderer that wants to make links of everything makes of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from plumbline.turn.plain_text import plain_text

RENDERER = MarkdownIt("gfm-like", {"html": True, "linkify": True})


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain words", "plain words"),
        ("What is your  role?\n", "What is your role?"),
        ("[label](https://evil.example/x)", "label"),
        ("![alt](https://evil.example/x.png)", "alt"),
        ("[label][ref]", "label"),
        ("see https://evil.example/x now", "see now"),
        ("see www.evil.com now", "see now"),
        ("mail a@evil.com now", "mail now"),
        ("visit evil.com", "visit evil com"),
        ("visit evil.com/path?q=1", "visit"),
        ("Node.js and socket.io 4.5", "Node js and socket io 4.5"),
        ("snake_case stays", "snake_case stays"),
        ("**bold** _it_ `code`", "bold it code"),
        ("<img src=x onerror=alert(1)>hello", "hello"),
        ("<script>alert(1)</script>", "alert(1)"),
        ("# Heading", "Heading"),
        ("a\u202eb\u200bc\x00d", "abcd"),
        ("C# and C++", "C# and C++"),
        ("a | b", "a b"),
        ("ｈｔｔｐｓ：／／evil.example", ""),
        ("javascript:alert(1)", ""),
        ("ht*tps://evil.com/x now", "ht now"),
        ("[#", ""),
        ("<<b>script>alert", "scriptalert"),
        ("", ""),
    ],
)
def test_plain(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_bounded_at_a_word() -> None:
    text = plain_text("word " * 500)
    assert len(text) <= 500
    assert text.endswith("word…")
    assert len(plain_text("x" * 100_000)) == 500


PIECES = st.sampled_from(
    [
        *("[", "]", "(", ")", "<", ">", "!", "`", "*", "_", "#", "|", ":", "\\", "a", " ", "\n"),
        *("https://", "//", "evil.com", "www.", "a@b.co", "javascript:", "img src=x ", "～", "．"),
        *("&lt;", "&#x5b;", "[a](http://evil.com)", "<http://evil.com>", "[a]: http://e.co"),
        *("ftp.evil.com", "x.co/y", "ht", "tps:", "/"),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
@example("[a [b](http://x.co)](http://y.co)")
@example("![[x](u)](http://evil.com)")
def test_no_renderer_makes_a_link_of_it(text: str) -> None:
    html = RENDERER.render(plain_text(text))
    assert not re.search(r"<(?:a|img|script|iframe|svg|code|h\d|table|em|strong)\b", html), html
