"""The extractive provider: a short cited answer made of the retrieved records, with no model.

Source: design, decision 17. It says what each record is, where it is, its first doc line, and
shows its signature; the text is the records' own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plumbline.errors import ModelUnavailable
from plumbline.sources import Source
from plumbline.turn.language_model import (
    Extraction,
    ExtractionRequest,
    Finish,
    GenerationRequest,
    TextDelta,
    Usage,
)

SHOWN = 4
DETAILED = 2
SIGNATURE_LINES = 6
SENTENCES = 3
_MAX_PASSAGE = 600
_DESCRIPTION = re.compile(r"(?P<kind>[\w#+ /.-]{2,40}): (?P<name>.+?)(?: \N{EM DASH} (?P<doc>.+))?")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`*])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CITATION = re.compile(r"[\[\u3010]((?:SOURCE\s*)?\d{1,3}(?:\s*,\s*\d{1,3})*)[\]\u3011]", re.I)
_FILLERS = frozenset(
    ["about", "before", "does", "from", "happens", "have", "into", "show", "that", "their", "them"]
).union(["there", "this", "what", "when", "where", "which", "will", "with", "work", "works"])
_WORD = re.compile(r"\w+")
_NOT_PROSE = ("#", "|", "<", ">", "![", "---", "===", "..", "```", "~~~")
_FENCE_LANGUAGES = {"py": "python", "ts": "typescript", "tsx": "tsx", "js": "javascript"}
_DOC_TYPES = frozenset({"docs", "customer_story", "pricing", "blog"})


class ExtractiveModel:
    """Implements ``LanguageModel`` from the request's sources alone; costs nothing, never fails."""

    @property
    def name(self) -> str:
        """How it is called in ``degraded`` and the log."""
        return "extractive"

    def extract(self, request: ExtractionRequest) -> Extraction:
        """Always ``ModelUnavailable``: signals need a model, and the turn goes on without."""
        raise ModelUnavailable("No language model is configured, so no signals are extracted.")

    def stream(self, request: GenerationRequest) -> Iterator[TextDelta | Finish]:
        """The answer, one paragraph a delta."""
        sources = _distinct(request.sources)[:SHOWN]
        words = frozenset(_words(request.query))
        # Words too short to weigh say nothing either way; no word at all asks for nothing.
        covered = _covered(words, sources) if words else bool(_WORD.search(request.query))
        if sources and not covered:
            yield TextDelta("Nothing here answers this as it was asked. What comes nearest:\n\n")
        detailed, rest = sources[:DETAILED], sources[DETAILED:]
        for source in detailed:
            for paragraph in _paragraphs(source, words):
                yield TextDelta(f"{paragraph}\n\n")
        if rest:
            lines = "\n".join(f"- {_headline(source)}" for source in rest)
            yield TextDelta(f"See also:\n\n{lines}\n")
        yield Finish("stop", Usage())


def _covered(words: frozenset[str], sources: Sequence[Source]) -> bool:
    """Whether one source holds at least half of the question's own words."""
    texts = (frozenset(_words(f"{source.title} {source.content}")) for source in sources)
    return any(2 * len(words & text) >= len(words) for text in texts)


def _distinct(sources: Sequence[Source]) -> list[Source]:
    """The sources in their order, without those that lie inside an earlier one's lines."""
    kept: list[Source] = []
    for source in sources:
        if not any(_inside(source, earlier) for earlier in kept):
            kept.append(source)
    return kept


def _inside(source: Source, other: Source) -> bool:
    if source.file_path is None or source.repository != other.repository:
        return False
    if source.file_path != other.file_path or not (source.line_start and other.line_start):
        return False
    last, other_last = source.line_end or source.line_start, other.line_end or other.line_start
    return other.line_start <= source.line_start and last <= other_last


def _paragraphs(source: Source, words: frozenset[str]) -> Iterator[str]:
    description, body = _split(source)
    doc = description["doc"] if description else None
    if source.source_type in _DOC_TYPES or _is_prose(source):
        yield _headline(source)
        passage = _passage(body, words)
        if passage:
            yield f"{_uncited(passage)} [{source.n}]"
    else:
        yield _headline(source) + (f" {_plain_sentence(_uncited(doc))}" if doc else "")
        signature = _signature(body)
        if signature:
            yield f"```{_fence_language(source)}\n{signature}\n```"


def _headline(source: Source) -> str:
    """What it is and where it is, cited."""
    description, _ = _split(source)
    name = description["name"] if description else source.title
    where = _where(source)
    if source.source_type in _DOC_TYPES or _is_prose(source):
        return f"**{_escaped(name)}**{where} [{source.n}]."
    kind = description["kind"] if description else "Definition"
    return f"`{name.replace('`', '')}` is {_article(kind)} {kind}{where} [{source.n}]."


def _where(source: Source) -> str:
    if not source.file_path:
        return ""
    lines = ""
    if source.line_start:
        last = source.line_end or source.line_start
        one = last == source.line_start
        lines = f", line {last}" if one else f", lines {source.line_start} to {last}"
    return f" in `{source.file_path.replace('`', '')}`{lines}"


def _split(source: Source) -> tuple[re.Match[str] | None, str]:
    """The record's description, which opens its content, and the text below it."""
    first, _, rest = source.content.partition("\n")
    description = _DESCRIPTION.fullmatch(first.strip())
    return (description, rest.lstrip("\n")) if description else (None, source.content)


def _signature(body: str) -> str:
    """The lines up to the one that ends the signature, at most six."""
    lines: list[str] = []
    depth = 0
    for line in body.split("\n")[:SIGNATURE_LINES]:
        lines.append(line.rstrip())
        depth += sum(line.count(c) for c in "([") - sum(line.count(c) for c in ")]")
        decorator = line.lstrip().startswith("@")
        if depth <= 0 and line.strip() and not decorator:
            break
    text = "\n".join(lines).strip("\n")
    return "" if "```" in text else text


def _passage(body: str, words: frozenset[str]) -> str:
    """The first sentences of the section's paragraph that shares most words with the question.

    A paragraph that begins in the middle of a sentence, behind a block of code, comes last.
    """

    def fitness(paragraph: str) -> tuple[bool, int]:
        return not paragraph[:1].islower(), len(words & frozenset(_words(paragraph)))

    text = max(_prose(body), key=fitness, default="")
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    passage = ""
    for sentence in sentences[:SENTENCES]:
        if len(passage) + len(sentence) > _MAX_PASSAGE:
            break
        passage = f"{passage} {sentence}".strip()
    return passage


def _prose(body: str) -> Iterator[str]:
    """The paragraphs, each on one line: no headings, fences, tables, HTML, rules or directives."""
    fenced = False
    lines: list[str] = []
    for line in [*body.split("\n"), ""]:
        text = line.strip()
        if text.startswith(("```", "~~~")):
            fenced = not fenced
        passed_over = fenced or text.startswith(_NOT_PROSE)
        if text and not passed_over:
            lines.append(text)
        elif lines:
            yield " ".join(lines)
            lines = []


def _words(text: str) -> list[str]:
    """Words that carry meaning, plural or not, code names split into theirs."""
    words = _WORD.findall(_HUMP.sub(" ", text).replace("_", " ").lower())
    return [word.removesuffix("s") for word in words if len(word) > 3 and word not in _FILLERS]


def _is_prose(source: Source) -> bool:
    return bool(source.file_path) and str(source.file_path).endswith((".md", ".mdx", ".rst"))


def _fence_language(source: Source) -> str:
    suffix = (source.file_path or "").rpartition(".")[2].lower()
    return _FENCE_LANGUAGES.get(suffix, suffix if suffix.isalnum() else "")


def _plain_sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def _uncited(text: str) -> str:
    """A source's own words, in which a number in brackets is no citation of ours."""
    return _CITATION.sub(r"(\1)", text)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def _article(kind: str) -> str:
    return "an" if kind[:1].lower() in "aeiou" else "a"
