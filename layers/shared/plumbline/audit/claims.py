"""Claims about customers: proved by the sources, or not made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from plumbline.audit.addresses import pages
from plumbline.audit.company_names import capitalised_names
from plumbline.audit.context import ClassifyContext, NameIndex, fold
from plumbline.audit.decisions import SENTINEL_MARK, STRIPPED_MARK
from plumbline.audit.markdown import survey
from plumbline.audit.regions import References, TooComplex
from plumbline.audit.sentences import Sentence, without_sentences
from plumbline.audit.values import Value, ValueSet, values
from plumbline.sources import Source

_NEGATION = re.compile(
    r"\b(?:no|not(?! only)|never|none|neither|nor|cannot|without|nothing|unknown|unclear"
    r"|(?:do|does|did|is|are|was|were|has|have|had|can|could|would|will|should)n['’]t)\b",
    re.IGNORECASE,
)
_ORPHANS = (
    # "according to ." and what else is left when a link had no text of its own.
    re.compile(
        r",?[ \t]*\b(?:according to|as (?:described|explained|noted|stated|reported) (?:in|by)"
        r"|as per)(?:[ \t]+(?:the|this|a|an|our|their))?[ \t]*(?=[,.;:!?)]|\s*\Z)",
        re.IGNORECASE,
    ),
    re.compile(r"[ \t]*\((?:source|sources|see|via|ref)s?:?[ \t]*\)", re.IGNORECASE),
    re.compile(
        r"[ \t]*[—–-]{1,2}[ \t]*(?:source|sources|via):?[ \t]*$", re.IGNORECASE | re.MULTILINE
    ),
    re.compile(r"^[ \t]*(?:source|sources):[ \t]*$", re.IGNORECASE | re.MULTILINE),
)
_NAMED_ORPHANS = (
    re.compile(
        r"(?P<comma>,[ \t]*)?\b(?:according to|as (?:described|explained|noted|stated|reported) "
        rf"(?:in|by)|as per)[ \t]+[^.;!?\n()]{{0,160}}?{STRIPPED_MARK}(?P<after>,[ \t]*)?"
        r"(?P<next>\w)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"[ \t]*\((?:source|sources|see|via):?[ \t][^()\n]{{0,160}}?{STRIPPED_MARK}[ \t]*\)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"[ \t]*[—–-]{{1,2}}[ \t]*(?:source|sources|via):?[ \t][^\n]{{0,160}}?{STRIPPED_MARK}"
        r"[ \t]*\.?$",
        re.IGNORECASE | re.MULTILINE,
    ),
)
_ORPHAN_TITLE = re.compile(
    r"[ \t]+[—–][ \t]*Source:?[ \t]+[^\n.\[\]()]{1,120}$", re.IGNORECASE | re.MULTILINE
)


def strip_dangling_attributions(content: str) -> str:
    """The content without the attributions that a removed link left behind.

    "according to ...", "(source: ...)" and "— Source X" go where nothing, or only the text of a
    link that lost its address, is left of what they name. Source: seed 000,
    "stripDanglingAttributions".
    """
    for pattern in _NAMED_ORPHANS:
        content = _sub_outside_code(pattern, _rejoined, content)
    for pattern in (*_ORPHANS, _ORPHAN_TITLE):
        content = _sub_outside_code(pattern, lambda match: "", content)
    return content.replace(STRIPPED_MARK, "")


def _sub_outside_code(
    pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str], content: str
) -> str:
    if not pattern.search(content):
        return content
    try:
        code = survey(content).code_ranges()
    except TooComplex:
        return content

    def replaced(match: re.Match[str]) -> str:
        touches = any(low < match.end() and match.start() < high for low, high in code)
        return match[0] if touches else replacement(match)

    return pattern.sub(replaced, content)


def _rejoined(match: re.Match[str]) -> str:
    """What joins the text around an attribution: a capital where it began the sentence."""
    groups = match.groupdict()
    following = groups.get("next") or ""
    if groups.get("comma"):
        return f", {following}" if groups.get("after") else f" {following}" if following else ""
    begins = not match.string[: match.start()].rstrip(" \t*_").rstrip("\n")[-1:].strip(".!?:")
    return following.upper() if begins else following


def strip_hallucinated_customer_sentences(
    content: str, references: References | None = None
) -> tuple[str, int]:
    """The content without each sentence that holds the mark of a made-up customer's link, and how
    many went. Source: seed 000, "stripHallucinatedCustomerSentences"."""
    if SENTINEL_MARK not in content:
        return content, 0
    content, count = without_sentences(content, lambda s: SENTINEL_MARK in s.source, references)
    return content.replace(SENTINEL_MARK, ""), count


class ClaimVerdict(NamedTuple):
    """Whether a sentence may stand; if not, why not, as a stable code."""

    valid: bool
    reason: str | None = None


@dataclass(frozen=True)
class ClaimChecker:
    """What a turn's customer claims are checked against."""

    ctx: ClassifyContext
    question: str = ""
    products: Sequence[str] = ()

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Each source's words, folded, to look names up in."""
        return {
            s.n: f" {fold(' '.join((s.title, s.customer or '', s.content)))} "
            for s in self.ctx.sources
        }

    @cached_property
    def values(self) -> Mapping[int, ValueSet]:
        """Each source's values."""
        return {s.n: ValueSet.of(s.title, s.content) for s in self.ctx.sources}

    @cached_property
    def no_customers(self) -> frozenset[str]:
        """Folded names that are never customers."""
        policy = self.ctx.policy
        return frozenset(fold(n) for n in (policy.brand, *policy.not_customers, *self.products))

    @cached_property
    def cue(self) -> re.Pattern[str] | None:
        """The instance's customer cues, as whole words."""
        cues = self.ctx.policy.customer_cues
        if not cues:
            return None
        return re.compile(rf"\b(?:{'|'.join(re.escape(cue) for cue in cues)})\b", re.IGNORECASE)

    @cached_property
    def directory(self) -> NameIndex:
        """The names of the directory and of the sources' customers, to look for in a text."""
        names = [*self.ctx.customers, *(s.customer for s in self.ctx.sources if s.customer)]
        return NameIndex(name for name in names if fold(name) not in self.no_customers)

    def may_name(self, content: str) -> bool:
        """Whether anything in the content could make a name a customer's."""
        return bool(
            (self.cue is not None and self.cue.search(content)) or self.directory.found_in(content)
        )

    def naming(self, folded: str) -> list[Source]:
        """The sources that name a company."""
        return [s for s in self.ctx.sources if f" {folded} " in self.texts[s.n]]

    def customers(self, sentence: str, *, cued: bool = True) -> Iterator[str]:
        """The customers that a sentence names: the directory's, and with a cue any name.

        Without ``cued`` only the directory's: in a heading every word may have a capital.
        """
        known = False
        for name in self.directory.found_in(sentence):
            # A name that is a word too ("Target", "gap") counts only as a name.
            pattern = r"\W+".join(re.escape(word) for word in name.split())
            match = re.search(rf"(?<!\w)(?:{pattern})", sentence, re.IGNORECASE)
            if match is None or match[0][:1].isupper() or not match[0][:1].isalpha():
                known = True
                yield name
        if known or not cued or self.cue is None or not self.cue.search(sentence):
            return
        yield from (name for name in capitalised_names(sentence) if not self._ordinary(name))

    def _ordinary(self, name: str) -> bool:
        folded = fold(name)
        if folded in self.no_customers:
            return True
        if any(folded.startswith(f"{other} ") for other in self.no_customers):
            return True
        return self.cue is not None and bool(self.cue.fullmatch(name))


@dataclass(frozen=True, slots=True)
class Lender:
    """What stood just before a sentence, and may be what the sentence speaks of."""

    text: str = ""
    urls: tuple[str, ...] = ()
    heading: bool = False


NO_LENDER = Lender()


def validate_customer_claim(
    sentence: str,
    checker: ClaimChecker,
    *,
    urls: Iterable[str] = (),
    lender: Lender = NO_LENDER,
) -> ClaimVerdict:
    """Whether a sentence about a customer with a metric is proved by the sources.

    It needs the company in a source, each metric in a source that names the company, and a link
    to that customer's source or story. A sentence without a name may take one from the heading
    or the sentence before it. Other sentences, negations and the reader's own words are valid.
    Source: seed 000, "validateCustomerClaim" (F-038).
    """
    metrics = [value for value in values(_without_citations(sentence)) if value.metric]
    if not metrics or _NEGATION.search(sentence):
        return ClaimVerdict(True)
    targets = pages(urls)
    names = list(dict.fromkeys(checker.customers(sentence)))
    if not names and lender.text and (lender.heading or _REFERS_BACK.match(sentence)):
        metrics = [value for value in metrics if value.unit or value.scaled]
        names = list(dict.fromkeys(checker.customers(lender.text, cued=not lender.heading)))
        targets |= pages(lender.urls)
    if not names or not metrics or _is_readers(names, metrics, checker.question):
        return ClaimVerdict(True)
    for name in names:
        folded = fold(name)
        naming = checker.naming(folded)
        if not naming:
            return ClaimVerdict(False, "customer_not_in_sources")
        if not all(any(checker.values[s.n].has(m) for s in naming) for m in metrics):
            return ClaimVerdict(False, "metric_not_in_sources")
        own = pages([*(s.url for s in naming), checker.ctx.customer_names.get(folded)])
        if not own & targets:
            return ClaimVerdict(False, "no_case_study_link")
    return ClaimVerdict(True)


_REFERS_BACK = re.compile(
    r"\W*(?:they|their|it|its|this|these|that|as a result|since then|since|after|afterwards"
    r"|within|the (?:company|brand|retailer|team|firm|store|shop|result|results|move|change)"
    r"|(?:conversions?|revenue|sales|latency|traffic|orders|results?)\b)",
    re.IGNORECASE,
)


def _without_citations(sentence: str) -> str:
    return re.sub(r"\[\d{1,3}\]|\(https?://[^)\s]*\)|https?://\S+", " ", sentence)


def _is_readers(names: Iterable[str], metrics: Iterable[Value], question: str) -> bool:
    if not question:
        return False
    words, asked = f" {fold(question)} ", ValueSet.of(question)
    return all(f" {fold(name)} " in words for name in names) and all(
        asked.has(metric) for metric in metrics
    )


def remove_customer_claims(
    content: str,
    checker: ClaimChecker,
    *,
    before: Lender = NO_LENDER,
    references: References | None = None,
) -> tuple[str, list[str], Lender]:
    """The content without the sentences whose customer claims are not proved.

    With it come the reasons, one a sentence, and what the content lends to the next paragraph.
    """
    reasons: list[str] = []
    lender = before
    if not before.text and not checker.may_name(content):
        return content, reasons, NO_LENDER

    def unwanted(sentence: Sentence) -> bool:
        nonlocal lender
        shown = sentence.visible(code=False)
        verdict = validate_customer_claim(shown, checker, urls=sentence.urls, lender=lender)
        heading = len(shown) <= 80 and not shown.endswith((".", "!", "?"))
        if any(True for _ in checker.customers(shown, cued=not heading)):
            lender = Lender(shown, tuple(sentence.urls), heading)
        elif not lender.heading:
            lender = NO_LENDER
        if not verdict.valid and verdict.reason:
            reasons.append(verdict.reason)
        return not verdict.valid

    content, _ = without_sentences(content, unwanted, references)
    return content, reasons, lender
