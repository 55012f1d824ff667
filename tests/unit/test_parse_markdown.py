"""Markdown and MDX: sections, and front matter that is not trusted."""

from __future__ import annotations

import time
from collections.abc import Collection

import pytest

from plumbline.index.entities import Entity, ParseTimeout
from plumbline.index.parsing.front_matter import FrontMatter, read_front_matter, safe_address
from plumbline.index.parsing.markdown import parse_markdown, plain_text

HOSTS = ("docs.example.com",)


def read(text: str, path: str = "docs/guide.md") -> list[Entity]:
    return parse_markdown(text, path=path, deadline=time.monotonic() + 30, allowed_hosts=HOSTS)


def outline(text: str, path: str = "docs/guide.md") -> list[tuple[object, int, int]]:
    return [
        (entity.extra["heading_path"], entity.line_start, entity.line_end)
        for entity in read(text, path)
    ]


PAGE = """---
title: Guide
product_tag: Search
---

Before any heading. More.

# Start

[![badge](a)](b)

First words, e.g. these. Others.

## With `code` and [a link](https://x.y) {#custom-id}

- # in a list
> # in a quote

```md
# in a fence
```

    # in a block

Setext
------

Text.

#### Too deep

# End #
"""


def test_one_section_a_heading() -> None:
    assert outline(PAGE) == [
        ([], 6, 6),
        (["Start"], 8, 12),
        (["Start", "With code and a link"], 14, 23),
        (["Start", "Setext"], 25, 28),
        (["Start", "Setext", "Too deep"], 30, 30),
        (["End"], 32, 32),
    ]


def test_what_a_section_says() -> None:
    before, start, code, *_ = read(PAGE)
    assert (before.name, before.signature, before.doc) == ("Guide", "Guide", "Before any heading.")
    assert (start.name, start.qualified_name) == ("Start", "Start")
    assert start.kind_label == "Markdown section"
    assert start.signature == "# Start"
    assert start.body.startswith("# Start\n\n[![badge]")
    assert start.doc == "First words, e.g. these."
    assert start.extra == {
        "title": "Guide",
        "product_tag": ["Search"],
        "heading_path": ["Start"],
    }
    assert code.qualified_name == "Start > With code and a link"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading\n", "From front matter"),
        ("## Sub\n# Top\n", "Top"),
        ("## Sub\n", "Sub"),
        ("words\n", "guide"),
    ],
)
def test_title(text: str, title: str) -> None:
    assert {entity.extra["title"] for entity in read(text)} == {title}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n\n \n", []),
        ("---\n---\n", []),
        ("---\ntitle: Alone\n---\n", [([], 1, 3)]),
        ("# A\n# B\n", [(["A"], 1, 1), (["B"], 2, 2)]),
        ("#\n", [(["Untitled"], 1, 1)]),
        ("### C\n# A\n## B\n", [(["C"], 1, 1), (["A"], 2, 2), (["A", "B"], 3, 3)]),
        # A thematic break is no front matter, nor is what never ends.
        ("---\n\nwords\n\n---\n# A\n", [([], 1, 5), (["A"], 6, 6)]),
        ("---\ntitle: x\n# A\n", [([], 1, 2), (["A"], 3, 3)]),
        # A reference above a rule is no heading.
        ("[a]: https://x.y\n---\n", [([], 1, 2)]),
    ],
)
def test_outlines(text: str, expected: object) -> None:
    assert outline(text) == expected


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_ends(ending: str) -> None:
    assert outline(PAGE.replace("\n", ending)) == outline(PAGE)


def test_a_lone_carriage_return_counts_no_line() -> None:
    assert outline("# A\r# B\r\ntext\n# C\n") == [(["A"], 1, 1), (["B"], 1, 2), (["C"], 3, 3)]


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\u2028", "\x85", "\0"])
def test_no_other_character_shifts_a_line(separator: str) -> None:
    assert outline(f"a{separator}b\n\n# A\n") == [([], 1, 1), (["A"], 3, 3)]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("`a_b` and **bold** and *it* and __b__ and _i_", "a_b and bold and it and b and i"),
        ("[text](https://x.y 'title') ![alt](a.png)", "text alt"),
        ("[text][ref]", "text"),
        ("A <Badge text='new' /> B<br>", "A B"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        (r"\_escaped\_", "_escaped_"),
        ("``a ` b``", "a ` b"),
        ("Title {#id}", "Title"),
        ("[unclosed", "[unclosed"),
    ],
)
def test_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


MDX = """---
title: X
---
import Tabs from '@theme/Tabs'
import {
  A,
} from 'b'

export const meta = {
  title: 'x'
}

# A

<Tabs>
  <Tab label="x">
    ## Inner
    Some <b>text</b> here. And {/* hidden */} more.
  </Tab>
</Tabs>

```jsx
import x from 'y'
<Foo/>
```

<Card
  title="hidden"
>

## End
"""


def test_mdx_without_its_program() -> None:
    assert outline(MDX, "page.mdx") == [
        (["A"], 13, 13),
        (["A", "Inner"], 17, 25),
        (["A", "End"], 31, 31),
    ]
    inner = read(MDX, "page.mdx")[1]
    assert inner.doc == "Some text here."
    assert "import x from 'y'\n<Foo/>" in inner.body
    everything = "\n".join(entity.body for entity in read(MDX, "page.mdx"))
    for hidden in ("@theme", "export const", "<Tab", "hidden", "<b>"):
        assert hidden not in everything


def test_the_same_page_as_markdown_keeps_it() -> None:
    assert "<Tabs>" in "\n".join(entity.body for entity in read(MDX, "page.md"))


@pytest.mark.parametrize(
    ("block", "title"),
    [
        ("title: a: b", "a: b"),
        ("title: 'a: b'", "a: b"),
        ('title: "quoted"', "quoted"),
        ("title: 2024-01-02", "2024-01-02"),
        ("title: 1.10", "1.10"),
        ("title: 010", "010"),
        ("title: yes", "yes"),
        ("title: null", ""),
        ("title: [x, y]", "x"),
        ("title: {a: b}", ""),
        ("title: >\n  folded\n  text", "folded text"),
        ("title: x\ndate: 2024-13-45", "x"),
        ("title: x\ncount: " + "9" * 5000, "x"),
        ("title: x\nwhen: !!timestamp nonsense", "x"),
        ("title: x\nrun: !!python/object/apply:os.system [ls]", "x"),
        ("title: x\nbad: [", "x"),
        ("title: x\nbad: *nothing", "x"),
        ("title: @x `y`", "@x `y`"),
        ("title: x\n\tkey: tab", "x"),
        ("title: x\ntitle: y", "y"),
        ("title: x\nurl: %s\ndescription: it's", "x"),
        ("title: " + "é" * 900, "é" * 500),
    ],
)
def test_no_value_loses_the_page(block: str, title: str) -> None:
    front = read_front_matter(f"---\n{block}\n---\n# H\n", allowed_hosts=())
    assert front.title == title
    assert front.line_count == block.count("\n") + 3


def test_dots_may_end_it_and_toml_is_read() -> None:
    assert read_front_matter("---\ntitle: x\n...\n", allowed_hosts=()).title == "x"
    toml = '+++\ntitle = "x"\ndate = 2024-01-02\nproduct_tag = ["a"]\n+++\n'
    front = read_front_matter(toml, allowed_hosts=())
    assert (front.title, front.line_count) == ("x", 5)
    assert front.fields == {"product_tag": ["a"]}
    broken = read_front_matter("+++\ntitle = x\n+++\n", allowed_hosts=())
    assert broken.title == "x"


def test_every_field() -> None:
    front = read_front_matter(
        """---
title: T
description: D
url: https://docs.example.com/t
source_type: guide
customer: Acme
industry_tag: retail
product_tag: [a, b, a, '']
feature_tag:
  - c
  - 7
solution_tag: []
heading_path: Docs > Guides
other: x
---
""",
        allowed_hosts=HOSTS,
    )
    assert front == FrontMatter(
        line_count=15,
        title="T",
        description="D",
        heading_path=("Docs", "Guides"),
        fields={
            "url": "https://docs.example.com/t",
            "source_type": "guide",
            "customer": "Acme",
            "industry_tag": ["retail"],
            "product_tag": ["a", "b"],
            "feature_tag": ["c", "7"],
        },
    )


def test_the_front_matter_path_leads_the_headings() -> None:
    [section] = read("---\nheading_path: [Docs, Guides]\n---\n# A\n")
    assert section.extra["heading_path"] == ["Docs", "Guides", "A"]


def test_the_description_stands_in_for_the_first_sentence() -> None:
    first, second = read("---\ndescription: What it is. More.\n---\n# A\nwords\n## B\nothers\n")
    assert (first.doc, second.doc) == ("What it is.", "others")


def test_alias_bombs_and_deep_values_cost_nothing() -> None:
    bomb = "a: &a [x]\n" + "".join(
        f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}" + ", *a" * 9 + "]\n" for n in range(40)
    )
    merges = "a: &a {x: 1}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(40))
    deep = "a: " + "[" * 20_000
    for block in (bomb, merges, deep):
        started = time.process_time()
        front = read_front_matter(f"---\ntitle: t\n{block}\n---\n# H\n", allowed_hosts=())
        assert front.title == "t"
        assert time.process_time() - started < 2


def test_many_tags_are_cut() -> None:
    block = "product_tag: [" + ", ".join(f"t{n}" for n in range(500)) + "]"
    fields = read_front_matter(f"---\n{block}\n---\n", allowed_hosts=()).fields
    assert fields["product_tag"] == [f"t{n}" for n in range(20)]


@pytest.mark.parametrize(
    ("address", "hosts", "kept"),
    [
        ("https://docs.example.com/a?b=c#d", HOSTS, True),
        ("https://DOCS.example.com/a", HOSTS, True),
        ("HTTPS://docs.example.com/a", HOSTS, True),
        ("https://docs.example.com:443/a", HOSTS, True),
        ("https://docs.example.com", HOSTS, True),
        ("https://a.example.com/x", ("*.example.com",), True),
        ("https://example.com/x", ("*.example.com",), False),
        ("https://evilexample.com/x", ("*.example.com",), False),
        ("http://docs.example.com/a", HOSTS, False),
        ("https://docs.example.com:8443/a", HOSTS, False),
        ("https://docs.example.com:x/a", HOSTS, False),
        ("https://user@docs.example.com/a", HOSTS, False),
        ("https://docs.example.com@evil.example/a", HOSTS, False),
        ("https://evil.example/docs.example.com", HOSTS, False),
        ("https://docs.example.com.evil.example/", HOSTS, False),
        ("https://sub.docs.example.com/", HOSTS, False),
        ("https://docs.example.com\\@evil.example/", HOSTS, False),
        ("https://docs.example.com/a b", HOSTS, False),
        ("https://docs.example.com/a)[x](https://evil.example", HOSTS, False),
        ("https://docs.example.com/<script>", HOSTS, False),
        ("https://docs.example.com/\u202egpj", HOSTS, False),
        ("https://docs.exаmple.com/", HOSTS, False),
        ("https://[::1", HOSTS, False),
        ("javascript:alert(1)", HOSTS, False),
        ("data:text/html,x", HOSTS, False),
        ("//docs.example.com/a", HOSTS, False),
        ("/docs/a", HOSTS, False),
        ("https://docs.example.com/" + "a" * 2000, HOSTS, False),
        ("https://docs.example.com/a", (), False),
        ("", HOSTS, False),
    ],
)
def test_an_address_is_kept_only_if_https_on_an_allowed_host(
    address: str, hosts: Collection[str], kept: bool
) -> None:
    assert safe_address(address, hosts) == (address if kept else None)
    front = read_front_matter(f"---\ntitle: t\nurl: '{address}'\n---\n", allowed_hosts=hosts)
    assert front.fields.get("url") == (address if kept else None)


@pytest.mark.parametrize("text", ["# a\n" * 100_000, "a\n" * 300_000, "> - 1. a\n" * 50_000])
def test_the_deadline_holds(text: str) -> None:
    with pytest.raises(ParseTimeout):
        parse_markdown(text, path="a.md", deadline=time.monotonic() + 0.05)
