"""Plain text holds no link and no markup, and says the same words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from plumbline.audit.plain import plain_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which **team** are you on?", "Which team are you on?"),
        ("See [the guide](https://evil.com) now", "See the guide now"),
        ("![pic](https://evil.com/x) x", "pic x"),
        ("<b onclick=x>bold</b> <script>alert(1)</script>x", "bold x"),
        ("<scr<b>ipt>alert(1)</scr</b>ipt>x", "x"),
        ("at https://evil.com/x, www.evil.com or me@evil.com", "at , or"),
        ("javascript:alert(1) x", "x"),
        ("evil.com/x and session.py and Next.js", "and session.py and Next.js"),
        ("# Title\n\n- one\n- two\n> q", "Title one two q"),
        ("snake_case and __init__ and 2 * 3", "snake_case and init and 2 3"),
        ("&lt;img src=x&gt; R&amp;D", "R&D"),
        ("a\x00b\u202ec\u200bd", "abcd"),
        ("[x]: https://evil.com\ny", "y"),
        ("", ""),
    ],
)
def test_plain_text(text: str, expected: str) -> None:
    assert plain_text(text) == expected


def test_the_limit_holds_at_a_word() -> None:
    cut = plain_text("word " * 500)
    assert len(cut) <= 500
    assert cut.endswith("word…")
    assert plain_text("x" * 600, 10) == "x" * 9 + "…"


PIECES = st.sampled_from(
    ["[", "]", "(", ")", "<", ">", "!", "`", "*", "_", "\n", " ", "x", "https://evil.com",
     "evil.com", "www.evil.com", "&lt;", "&#60;", "a href=", "img src=x", "javascript:",
     "me@evil.com", "\\", "://"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
def test_nothing_in_it_is_a_link_for_a_renderer(text: str) -> None:
    plain = plain_text(text)
    html = MarkdownIt("default", {"html": True, "linkify": True}).render(plain)
    assert "<a" not in html
    assert "<img" not in html
    assert "\n" not in plain
