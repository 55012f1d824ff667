"""Python: each hard shape, entity by entity."""

from __future__ import annotations

import time

import pytest

from plumbline.index.entities import Entity, ParseTimeout, first_sentence
from plumbline.index.parsing.files import parse_file
from plumbline.index.parsing.python import InvalidPython, parse_python

SOURCE = '''"""A module."""

from __future__ import annotations
import os, sys as system
from .errors import (  # the tree
    NotFound,
    Refused as No,
)


@dataclass(frozen=True)
@register
class Basket(Base, Generic[T], metaclass=Meta):
    """Holds goods, e.g. apples. Nothing else."""

    total: int = 0

    def __init__(self, goods: list[str] = [], *, limit: int = 3, **options: str) -> None:
        """
        Fill it
        from the start. Then stop.
        """

    @property
    def size(self) -> int: return 1

    @size.setter
    def size(self, value): pass

    @overload
    def get(self, key: int) -> str: ...
    @overload
    def get(self, key: str) -> bytes: ...

    async def drain(
        self,
        first,  # of all: this
        /,
        second: dict[
            str, int
        ],
        *rest: int,
        third=(1, 2),
    ) -> AsyncIterator[
        tuple[str, ...]
    ]:
        def inner(x): return x
        class Local: pass
        yield inner

    class Meta:
        key = lambda self, x=1: x


if sys.version_info > (3,):
    try:
        import json
    except ImportError:
        def loads(text): pass
    else:
        def dumps(value): pass
    finally:
        def close(): pass
else:
    def old(): pass

with open(os.devnull) as f:
    def under_with(): pass
for _ in []:
    def under_for(): pass
while False:
    def under_while(): pass
match system:
    case 1:
        def under_case(): pass
é = 1; café = lambda ü: ü
def naïve(größe: "ä" = "ö") -> "ß": pass
'''
# kind, qualified name, lines, signature, parameters, return type, doc
EXPECTED = [
    ("import", "__future__", 3, 3, "from __future__ import annotations", [], None, ""),
    ("import", "os, sys", 4, 4, "import os, sys as system", [], None, ""),
    ("import", ".errors", 5, 8, "from .errors import NotFound, Refused as No", [], None, ""),
    (
        "class",
        "Basket",
        11,
        52,
        "class Basket(Base, Generic[T], metaclass=Meta):",
        ["Base", "Generic[T]"],
        None,
        "Holds goods, e.g. apples.",
    ),
    (
        "method",
        "Basket.__init__",
        18,
        22,
        "def __init__(self, goods: list[str] = [], *, limit: int = 3, **options: str) -> None:",
        ["self", "goods: list[str] = []", "limit: int = 3", "**options: str"],
        "None",
        "Fill it from the start.",
    ),
    ("method", "Basket.size", 24, 25, "def size(self) -> int:", ["self"], "int", ""),
    ("method", "Basket.size", 27, 28, "def size(self, value):", ["self", "value"], None, ""),
    (
        "method",
        "Basket.get",
        30,
        31,
        "def get(self, key: int) -> str:",
        ["self", "key: int"],
        "str",
        "",
    ),
    (
        "method",
        "Basket.get",
        32,
        33,
        "def get(self, key: str) -> bytes:",
        ["self", "key: str"],
        "bytes",
        "",
    ),
    (
        "method",
        "Basket.drain",
        35,
        49,
        "async def drain(self, first, /, second: dict[str, int], *rest: int, third=(1, 2))"
        " -> AsyncIterator[tuple[str, ...]]:",
        ["self", "first", "second: dict[str, int]", "*rest: int", "third=(1, 2)"],
        "AsyncIterator[tuple[str, ...]]",
        "",
    ),
    ("function", "Basket.drain.inner", 47, 47, "def inner(x):", ["x"], None, ""),
    ("class", "Basket.drain.Local", 48, 48, "class Local:", [], None, ""),
    ("class", "Basket.Meta", 51, 52, "class Meta:", [], None, ""),
    (
        "method",
        "Basket.Meta.key",
        52,
        52,
        "key = lambda self, x=1: x",
        ["self", "x=1"],
        None,
        "",
    ),
    ("import", "json", 57, 57, "import json", [], None, ""),
    ("function", "loads", 59, 59, "def loads(text):", ["text"], None, ""),
    ("function", "dumps", 61, 61, "def dumps(value):", ["value"], None, ""),
    ("function", "close", 63, 63, "def close():", [], None, ""),
    ("function", "old", 65, 65, "def old():", [], None, ""),
    ("function", "under_with", 68, 68, "def under_with():", [], None, ""),
    ("function", "under_for", 70, 70, "def under_for():", [], None, ""),
    ("function", "under_while", 72, 72, "def under_while():", [], None, ""),
    ("function", "under_case", 75, 75, "def under_case():", [], None, ""),
    ("function", "café", 76, 76, "café = lambda ü: ü", ["ü"], None, ""),
    (
        "function",
        "naïve",
        77,
        77,
        'def naïve(größe: "ä" = "ö") -> "ß":',
        ['größe: "ä" = "ö"'],
        '"ß"',
        "",
    ),
]


def read(text: str) -> list[Entity]:
    return parse_python(text, deadline=time.monotonic() + 30)


def test_every_shape() -> None:
    found = [
        (
            entity.kind_label.removeprefix("Python "),
            entity.qualified_name,
            entity.line_start,
            entity.line_end,
            entity.signature,
            list(entity.parameters),
            entity.return_type,
            entity.doc,
        )
        for entity in read(SOURCE)
    ]
    assert found == EXPECTED


def test_types_and_bare_names() -> None:
    entities = {entity.qualified_name: entity for entity in read(SOURCE)}
    assert entities["Basket"].entity_type == "class"
    assert entities["Basket.size"].entity_type == "function"
    assert entities["Basket.size"].name == "size"
    assert entities[".errors"].entity_type == "import"
    assert entities[".errors"].body == ""


def test_a_body_begins_at_the_decorator_and_loses_the_outer_indent() -> None:
    [size, *_] = [entity for entity in read(SOURCE) if entity.name == "size"]
    assert size.body == "@property\ndef size(self) -> int: return 1"
    [init] = [entity for entity in read(SOURCE) if entity.name == "__init__"]
    assert init.body.splitlines()[1] == '    """'


def test_a_body_has_at_most_60_lines_and_2000_characters() -> None:
    [many] = read("def f():\n" + "    a\n" * 100)
    assert many.body.count("\n") == 59
    assert many.line_end == 101
    [long] = read("def f():\n" + "    a = '" + "x" * 4000 + "'\n")
    assert len(long.body) == 2000


@pytest.mark.parametrize(
    ("header", "signature"),
    [
        ("def f():  # a: comment", "def f():"),
        ("def f(a={1: 2}): pass", "def f(a={1: 2}):"),
        ("def f(a=lambda: 0): pass", "def f(a=lambda: 0):"),
        ("def f(a = (1)): pass", "def f(a = (1)):"),
        ("def  f ( a ) : pass", "def f ( a ) :"),
        ("def f(a: 'x:y') -> {1: 2}: pass", "def f(a: 'x:y') -> {1: 2}:"),
        ("class A(): pass", "class A():"),
        ("class A(\n    B,\n): pass", "class A(B):"),
        ("async def f(): pass", "async def f():"),
        ("def f(\n    *, a, b=1\n): pass", "def f(*, a, b=1):"),
        ("def f(a, /,\n b): pass", "def f(a, /, b):"),
        ("def \\\n  f(): pass", "def f():"),
        ("def f(\n): pass", "def f():"),
    ],
)
def test_signatures_are_on_one_line(header: str, signature: str) -> None:
    text = header if header.endswith("pass") else f"{header}\n    pass"
    assert [entity.signature for entity in read(text)] == [signature]


@pytest.mark.parametrize(
    ("docstring", "doc"),
    [
        ('"One. Two."', "One."),
        ('"""\n    Over\n    lines.\n\n    More.\n    """', "Over lines."),
        ('"No full stop\\n\\nnext paragraph."', "No full stop"),
        ('"Is it? Yes."', "Is it?"),
        ('"See version 1.2.3 of it. Then."', "See version 1.2.3 of it."),
        ('"Values, i.e. numbers, and so on. Then."', "Values, i.e. numbers, and so on."),
        ('b"bytes"', ""),
        ('f"x"', ""),
        ('""', ""),
    ],
)
def test_doc_is_the_first_sentence(docstring: str, doc: str) -> None:
    [entity] = read(f"def f():\n    {docstring}\n")
    assert entity.doc == doc


def test_first_sentence_reads_no_more_than_it_must() -> None:
    assert first_sentence("a " * 5_000_000) == ("a " * 1000).strip()


@pytest.mark.parametrize("separator", ["\x0c", "\x0b", "\u2028", "\u2029", "\x85", "\x1c"])
def test_no_other_character_shifts_a_line(separator: str) -> None:
    text = f"# a{separator}b\nx = '{separator}'\ndef f(): pass\n"
    assert [(entity.line_start, entity.line_end) for entity in read(text)] == [(3, 3)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a = 1\r\n\r\ndef f():\r\n    pass\r\n", (3, 4)),
        ("a = 1\rb = 2\rdef f():\r    pass\r", (1, 1)),
        ("a = 1\rb = 2\n\ndef f():\n    pass\n", (3, 4)),
    ],
    ids=["CRLF", "CR alone", "one CR"],
)
def test_lines_count_line_feeds(text: str, lines: tuple[int, int]) -> None:
    [entity] = read(text)
    assert (entity.line_start, entity.line_end) == lines
    assert entity.body == "def f():\n    pass"


def test_a_warning_of_the_compiler_is_no_failure() -> None:
    [entity] = read("def f(): return '\\d' is 1\n")
    assert entity.name == "f"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(:\n", "invalid syntax (line 1)"),
        ("x = " + "(" * 300 + ")" * 300, "too many nested parentheses (line 1)"),
        ("x = " + "1 + " * 20_000 + "1", "too deeply nested for Python's parser"),
        ("a = '\ud800'", "surrogates not allowed"),
    ],
    ids=["syntax", "parentheses", "terms", "surrogate"],
)
def test_what_ast_cannot_read_is_one_kind_of_error(text: str, reason: str) -> None:
    with pytest.raises(InvalidPython) as caught:
        read(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "if a: pass\n" + "elif a: pass\n" * 3000,
        "a" + ".b" * 5000,
        "-" * 3000 + "1",
        "lambda: " * 3000 + "1",
    ],
    ids=["elifs", "attributes", "signs", "lambdas"],
)
def test_deep_code_is_read_or_refused_as_this_python_can(text: str) -> None:
    try:
        assert [entity.name for entity in read(f"def f(): pass\n{text}")] == ["f"]
    except InvalidPython as error:
        assert "too deeply nested" in str(error)  # noqa: PT017


def test_a_nul_is_invalid_python() -> None:
    with pytest.raises(InvalidPython):
        read("a = 1\0\n")


def test_the_deadline_holds() -> None:
    with pytest.raises(ParseTimeout):
        parse_python("def f(): pass\n", deadline=time.monotonic() - 1)


PYTHON_2 = b"""import os
print "x"
def divide((a, b)):
    exec "x"
class K:
    def m(self):
        try: pass
        except ValueError, e: print `e`
def last(): pass
"""


def test_python_2_still_gives_its_definitions() -> None:
    parsed = parse_file("old.py", PYTHON_2)
    assert parsed.skipped is not None
    assert parsed.skipped.startswith("syntax error: ")
    found = [(e.qualified_name, e.line_start, e.line_end) for e in parsed.entities]
    assert found == [
        ("os", 1, 1),
        ("divide", 3, 4),
        ("K", 5, 8),
        ("K.m", 6, 8),
        ("last", 9, 9),
    ]


def test_a_template_of_a_python_file_still_gives_its_definitions() -> None:
    parsed = parse_file(
        "{{cookiecutter.name}}/app.py",
        b"import {{ cookiecutter.name }}\n\ndef start():\n    pass\n",
    )
    assert "start" in [entity.name for entity in parsed.entities]
    assert parsed.skipped is not None
