"""InlineStreamAuditor: the only way from a model to the reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plumbline.audit.addresses import pages
from plumbline.audit.blocks import BlockRewriter
from plumbline.audit.claims import (
    NO_LENDER,
    ClaimChecker,
    Lender,
    remove_customer_claims,
    strip_dangling_attributions,
    strip_hallucinated_customer_sentences,
)
from plumbline.audit.context import ClassifyContext
from plumbline.audit.decisions import STRIPPED_MARK
from plumbline.audit.leaks import leak_pattern, strip_prompt_instruction_leaks
from plumbline.audit.links import (
    LinkDecision,
    format_trace_line,
    normalize_link_label_suffix,
    plain_label,
    resolve_citations,
)
from plumbline.audit.markdown import fenced
from plumbline.audit.paragraphs import ParagraphSplitter, Piece, leaves_open
from plumbline.audit.regions import Survey
from plumbline.audit.unverified import UnverifiedNames, addresses_in
from plumbline.policy import AuditPolicy
from plumbline.sources import Source

Verdict = Literal["kept", "edited", "removed"]

MAX_TAIL = 400


@dataclass(frozen=True, slots=True)
class AuditedParagraph:
    """One paragraph as the reader may see it, separators included.

    ``reasons`` are the stable codes of what was changed; ``trace`` holds one line a decision.
    """

    content: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    trace: tuple[str, ...] = ()


class InlineStreamAuditor:
    """Audits one turn's answer as it streams. Not for two turns, and not for two threads.

    Source: seed 000, "InlineStreamAuditor"; design, decisions 8 to 10.
    """

    def __init__(
        self,
        context_sources: Sequence[Source],
        products: Sequence[str] = (),
        *,
        policy: AuditPolicy,
        question: str = "",
        known_urls: Collection[str] = (),
        customers: Mapping[str, str] | None = None,
    ) -> None:
        """``products`` are names that are no customers; ``customers`` is the customer directory,
        name to canonical address; ``known_urls`` are those that earlier audited turns showed."""
        self._sources = tuple(context_sources)
        self._policy = policy
        self._ctx = ClassifyContext(
            policy, self._sources, dict(customers or {}), {*known_urls, *addresses_in(question)}
        )
        self._rewriter = BlockRewriter(self._ctx)
        self._claims = ClaimChecker(self._ctx, question, products)
        self._names = UnverifiedNames(self._sources, question)
        self._splitter = ParagraphSplitter()
        self._references: dict[str, Mapping[str, Any]] = {}
        self._tail = ""
        self._seen: Survey | None = None
        self._lender: Lender = NO_LENDER
        self._block_start = True
        self._shown = False
        self._anything = False
        self._cited: dict[int, None] = {}
        self._kept: dict[str, None] = {}
        self.decisions: list[LinkDecision] = []
        self.counts: Counter[str] = Counter()

    def feed(self, text: str) -> Iterator[AuditedParagraph]:
        """The paragraphs that this piece of the stream completes, audited."""
        for piece in self._splitter.feed(text):
            yield from self._audited(piece)

    def close(self) -> Iterator[AuditedParagraph]:
        """The rest of the stream; and, if nothing of the answer was left, a sentence saying so."""
        for piece in self._splitter.close():
            yield from self._audited(piece, last=True)
        if self._anything and not self._shown:
            yield AuditedParagraph(self._notice(), "edited", ("everything_stripped",))

    def discard(self) -> None:
        """Forget what has been fed and is not yet released: the model was stopped there."""
        self._splitter = ParagraphSplitter()

    def audit_paragraph(self, paragraph: str) -> str:
        """The paragraph as the reader may see it; empty if nothing of it may be shown.

        Source: seed 000, "auditParagraph".
        """
        return self._audit(Piece(paragraph)).content

    @property
    def kept(self) -> int:
        """How many links stood as they were written."""
        return self.counts["keep"]

    @property
    def replaced(self) -> int:
        """How many links got another address or label."""
        return self.counts["replace"]

    @property
    def stripped(self) -> int:
        """How many links lost their address, images among them."""
        return self.counts["strip"]

    @property
    def sentences_removed(self) -> int:
        """How many sentences went."""
        return self.counts["sentences"]

    @property
    def images_removed(self) -> int:
        """How many images went; their descriptions stayed as text."""
        return self.counts["images"]

    @property
    def unverified(self) -> Sequence[str]:
        """Numbers and code names that neither the sources nor the question have, in order."""
        return self._names.found

    @property
    def cited_sources(self) -> Sequence[int]:
        """The numbers of the sources that the text shown cites or links to, in order."""
        return tuple(self._cited)

    @property
    def shown_urls(self) -> Sequence[str]:
        """The addresses in the text shown, in order: what the next turn may call known."""
        return tuple(self._kept)

    @property
    def kept_links(self) -> Sequence[str]:
        """The same addresses, for ``ContentAuditor``."""
        return tuple(self._kept)

    def _audited(self, piece: Piece, *, last: bool = False) -> Iterator[AuditedParagraph]:
        result = self._audit(piece, last=last)
        if piece.text.strip():
            self._anything = True
        if result.content.strip():
            self._shown = True
        if result.content or result.reasons:
            yield result

    def _audit(self, piece: Piece, *, last: bool = False) -> AuditedParagraph:
        if piece.fence or not piece.text.strip():
            # One fence, whole: code in every renderer, whatever it says.
            self._block_start = True
            return AuditedParagraph(piece.text, "kept")
        text = _with_newlines(piece.text)
        joint = "" if self._block_start else piece.joint
        decisions: list[LinkDecision] = []
        reasons: dict[str, None] = {}
        changed = self._passes(text, joint, decisions, reasons)
        if not last and leaves_open(changed):
            changed = fenced(text)
            reasons["escaped"] = None
        if "escaped" in reasons and joint == " ":
            changed = "\n" + changed
        self._block_start = "escaped" in reasons
        for decision in decisions:
            if decision.action != "keep":
                reasons.setdefault(decision.reason)
            self.counts[decision.action] += 1
        self.decisions.extend(decisions)
        if changed == text:
            result = AuditedParagraph(piece.text, "kept", (), self._trace(text, text, decisions))
        elif changed.strip():
            content = changed.replace("\n", "\r\n") if "\r\n" in piece.text else changed
            trace = self._trace(text, changed, decisions)
            result = AuditedParagraph(content, "edited", tuple(reasons) or ("edited",), trace)
        else:
            trace = self._trace(text, "", decisions)
            result = AuditedParagraph("", "removed", tuple(reasons) or ("removed",), trace)
        self._note(result.content, decisions)
        return result

    def _passes(
        self, text: str, joint: str, decisions: list[LinkDecision], reasons: dict[str, None]
    ) -> str:
        """File 000's passes in its order, then the check that the result stands as it is."""
        changed = self._without_leaks(text)
        if changed != text:
            reasons["prompt_leak"] = None
        cited: dict[int, None] = {}
        with_links = resolve_citations(changed, self._sources, cited=cited)
        if with_links != changed:
            reasons["citations"] = None
            changed = with_links
        changed, kept, escaped = self._rewritten(changed, joint, decisions, mark=True)
        if not escaped:
            settled = self._settled(changed, reasons)
            if settled != changed:
                # What the passes after the first left must stand just as what it left did.
                changed, kept, escaped = self._rewritten(settled, joint, decisions, mark=False)
        if escaped:
            reasons["escaped"] = None
            return fenced(text)
        decisions.extend(kept)
        for n in cited:
            self._cited.setdefault(n)
        return changed

    def _rewritten(
        self, text: str, joint: str, decisions: list[LinkDecision], *, mark: bool
    ) -> tuple[str, list[LinkDecision], bool]:
        """The text rewritten, the links that it keeps, and whether it must go out escaped."""
        # A word before it makes the text read as what it is: the middle of a paragraph.
        prefix = f"x{joint}" if joint else ""
        self._rewriter.mark = mark
        result = self._rewriter.rewrite(prefix + text, self._references)
        self.counts["images"] += result.images_removed
        decisions.extend(d for d in result.decisions if d.action != "keep")
        if result.escaped or not result.text.startswith(prefix):
            return text, [], True
        for label, definition in result.definitions.items():
            self._references.setdefault(label, definition)
        self._seen = None if prefix else result.survey
        kept = [d for d in result.decisions if d.action == "keep"]
        return result.text[len(prefix) :], kept, False

    def _settled(self, text: str, reasons: dict[str, None]) -> str:
        """The text after the passes that look at sentences and labels."""
        if STRIPPED_MARK in text:
            shorter = strip_dangling_attributions(text)
            if shorter != text.replace(STRIPPED_MARK, ""):
                reasons["dangling_attribution"] = None
            text = shorter
        text, count = strip_hallucinated_customer_sentences(text, self._references)
        self.counts["sentences"] += count
        text, claims, self._lender = remove_customer_claims(
            text, self._claims, before=self._lender, references=self._references
        )
        self.counts["sentences"] += len(claims)
        reasons.update(dict.fromkeys(claims))
        relabelled = normalize_link_label_suffix(text, self._policy.label_suffix)
        if relabelled != text:
            reasons["label_suffix"] = None
        return relabelled

    def _without_leaks(self, text: str) -> str:
        """The text without the prompt's labels, one that two paragraphs share included."""
        pattern = leak_pattern(self._policy.leak_labels)
        if pattern is None:
            return text
        first, newline, rest = text.partition("\n")
        tail = self._tail.rstrip().rpartition("\n")[2]
        for glue in ("", " "):
            match = pattern.match(f"{tail}{glue}{first}") if tail else None
            if match and match.end() > len(tail):
                text = rest if newline else ""
                break
        return strip_prompt_instruction_leaks(text, self._policy.leak_labels)

    def _note(self, content: str, decisions: Sequence[LinkDecision]) -> None:
        """What later paragraphs and the end of the turn need to know of this one."""
        self._tail = (self._tail + content)[-MAX_TAIL:]
        if not content:
            return
        self._names.read(_with_newlines(content), self._references, self._seen)
        for decision in decisions:
            if decision.action == "strip":
                continue
            url = decision.replacement or decision.url
            self._kept.setdefault(url)
            for page in pages([url]):
                if (source := self._ctx.source_pages.get(page)) is not None:
                    self._cited.setdefault(source.n)

    def _trace(self, before: str, after: str, decisions: Sequence[LinkDecision]) -> tuple[str, ...]:
        return (
            f"[AUDIT] ══ paragraph in ({len(before)} chars, {len(decisions)} links) ══",
            *(format_trace_line(d.label, d.url, d) for d in decisions),
            f"[AUDIT] ══ paragraph out ({len(after)} chars) ══",
        )

    def _notice(self) -> str:
        """The sentence for an answer of which nothing was left, and the sources as a list."""
        lines = [self._policy.stripped_notice]
        for source in self._sources:
            title = plain_label(source.title) or f"Source {source.n}"
            item = f"- [{title}]({source.url})" if source.url else f"- {title}"
            lines.append(self._rewriter.rewrite(item, {}).text)
        return "\n\n".join((lines[0], "\n".join(lines[1:]))).rstrip() + "\n"


def _with_newlines(text: str) -> str:
    """The text with each line end as a newline, as every Markdown parser reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
