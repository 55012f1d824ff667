"""One block of Markdown, rewritten until nothing in it leads where it may not.

The rewriting is a fixpoint: survey, judge, edit, and again, until a survey asks for no edit. The
result is then read by the second parser; a block that either still objects to goes out escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from plumbline.audit.addresses import Address, host_matches, read_address
from plumbline.audit.bare_addresses import (
    MAX_WORD,
    emails,
    encoded_runs,
    ends_everywhere,
    explicit_addresses,
    fuzzy_hosts,
    merged,
    plain_url,
    schemeless,
)
from plumbline.audit.context import ClassifyContext
from plumbline.audit.decisions import SENTINEL_MARK, STRIPPED_MARK, apply_decision
from plumbline.audit.differences import read_alike, stray_text
from plumbline.audit.html_tags import harmless, html_anchors_to_markdown, read_tag, safe_html
from plumbline.audit.links import (
    LinkDecision,
    classify_link,
)
from plumbline.audit.markdown import Edit, apply_edits, code_span, edit_region, fenced, survey
from plumbline.audit.regions import Definition, References, Region, Span, Survey, TooComplex
from plumbline.audit.second_reading import objects_to

MAX_PASSES = 8
MAX_BLOCK_CHARS = 64 * 1024

# Without one of these a block holds no link in anybody's grammar.
_SUSPECT = re.compile(r"[\[<&@\\]|//|www\.|\w\.[^\W\d_]{2}", re.IGNORECASE)
_TAG_IN_TEXT = re.compile(r"(?<!\\)((?:\\\\)*)(<(?=[A-Za-z/!?]))")
_EMPHASIS = re.compile(r"[*_`~]+")


@dataclass(slots=True)
class Rewriting:
    """A block after rewriting: its text, what was decided, and what it defines.

    ``definitions`` are those that it adds for later blocks; ``escaped`` says that it goes out as
    code, since it could not be made safe otherwise.
    """

    text: str
    decisions: list[LinkDecision] = field(default_factory=list)
    definitions: dict[str, dict[str, str]] = field(default_factory=dict)
    images_removed: int = 0
    html_removed: int = 0
    escaped: bool = False
    survey: Survey | None = None


class BlockRewriter:
    """Rewrites blocks by the rules of one turn."""

    def __init__(self, ctx: ClassifyContext) -> None:
        self._ctx = ctx
        self._stands: dict[str, bool] = {}
        self.mark = False
        """Whether a mark is left behind the text of a link that goes."""

    def rewrite(self, text: str, references: References) -> Rewriting:
        """The block with every link, image and tag judged. Line ends must be ``\\n``."""
        result = Rewriting(text)
        if not _SUSPECT.search(text):
            return result
        if len(text) > MAX_BLOCK_CHARS or not read_alike(text):
            return self._escape(result, text)
        known = dict(references)
        try:
            for _ in range(MAX_PASSES):
                seen = survey(result.text, known)
                edits, kept = self._edits(seen, result, known)
                if not edits:
                    break
                changed = apply_edits(result.text, edits)
                if changed == result.text:
                    return self._escape(result, text)
                result.text = changed
                if self.mark and (STRIPPED_MARK in changed or SENTINEL_MARK in changed):
                    # Marked text is never shown: it comes back without its marks.
                    return result
            else:
                return self._escape(result, text)
        except TooComplex:
            return self._escape(result, text)
        if stray_text(seen) or objects_to(result.text, known, self.stands):
            return self._escape(result, text)
        result.decisions.extend(kept)
        result.survey = seen
        for definition in seen.definitions:
            result.definitions.setdefault(
                definition.label, {"href": definition.href, "title": definition.title}
            )
        return result

    def stands(self, url: str) -> bool:
        """Whether an address may stand in the text, whatever its label."""
        if url not in self._stands:
            self._stands[url] = classify_link("", url, self._ctx).action == "keep"
        return self._stands[url]

    def _host_allowed(self, url: str) -> bool:
        address = read_address(url)
        return isinstance(address, Address) and host_matches(
            address.host, self._ctx.policy.allowed_hosts
        )

    def _escape(self, result: Rewriting, text: str) -> Rewriting:
        return Rewriting(
            fenced(text), [d for d in result.decisions if d.action != "keep"], escaped=True
        )

    def _edits(
        self, seen: Survey, result: Rewriting, known: dict[str, Mapping[str, Any]]
    ) -> tuple[list[Edit], list[LinkDecision]]:
        edits: list[Edit] = []
        kept: list[LinkDecision] = []

        def judge(label: str, url: str) -> LinkDecision:
            decision = classify_link(label, url, self._ctx)
            (kept if decision.action == "keep" else result.decisions).append(decision)
            return decision

        for definition in seen.definitions:
            edits.extend(self._definition_edits(seen, definition, known, judge))
        for start, end in seen.html:
            edits.extend(self._html_block_edits(seen.text, start, end, result))
        for region in seen.regions:
            edits.extend(self._region_edits(seen.text, region, result, judge))
        return edits, kept

    def _definition_edits(
        self,
        seen: Survey,
        definition: Definition,
        known: dict[str, Mapping[str, Any]],
        judge: Callable[[str, str], LinkDecision],
    ) -> Iterator[Edit]:
        decision = judge(definition.label, definition.href)
        if decision.action == "keep" or decision.new_label:
            return
        if definition.label.startswith("^") and decision.replacement is None:
            # A footnote for some renderers, a definition for others: text for all.
            at = seen.text.index("[", definition.start)
            yield at, at, "\\"
            return
        # Kept by name, so that a use of it is still known to be a link, and loses it.
        known.setdefault(definition.label, {"href": definition.href, "title": definition.title})
        line = ""
        if decision.replacement:
            line = f"[{definition.label}]: {decision.replacement}\n"
        yield definition.start, definition.end, line

    def _html_block_edits(
        self, text: str, start: int, end: int, result: Rewriting
    ) -> Iterator[Edit]:
        raw = text[start:end]
        bare = any(True for _ in self._bare_ranges(raw)) or "](" in raw
        if safe_html(raw) and not bare:
            return
        starts = [match.start(2) for match in _TAG_IN_TEXT.finditer(raw)]
        changes = list(html_anchors_to_markdown(raw, starts, "&lt;"))
        result.html_removed += len(changes)
        rewritten = apply_edits(raw, ((c.start, c.end, c.replacement) for c in changes))
        if bare or "](" in rewritten:
            # What is Markdown now must not stay inside HTML, where Markdown is not read.
            rewritten = _without_tags(rewritten)
        if rewritten == raw:
            rewritten = raw.replace("<", "&lt;")
        yield start, end, rewritten

    def _region_edits(
        self,
        seen: str,
        region: Region,
        result: Rewriting,
        judge: Callable[[str, str], LinkDecision],
    ) -> Iterator[Edit]:
        for span in region.spans:
            if span.kind == "link":
                yield from self._link_edits(region, span, judge)
            elif span.kind == "image":
                yield from self._image_edits(region, span, result, judge)
            elif span.kind == "autolink":
                text = region.content[span.start + 1 : span.end - 1]
                if judge(text, span.href).action == "strip":
                    yield from edit_region(region, span.start, span.end, code_span(text))
        starts = [span.start for span in region.spans if span.kind == "html"]
        if starts:
            for change in html_anchors_to_markdown(region.content, starts, "\\<"):
                result.html_removed += not change.image
                yield from edit_region(region, change.start, change.end, change.replacement)
        free = region.free_text()
        # A line's last blank is no part of its content, but may be part of an address.
        beyond = region.source_at(len(free))
        if (tail := seen[beyond : beyond + 1]).isspace() and tail not in " \t\n":
            free += tail
        yield from self._bare_edits(region, free, judge)
        for match in _TAG_IN_TEXT.finditer(free):
            tag = read_tag(free, match.start(2))
            if "=" in free[match.end() :] and (tag is None or not harmless(tag)):
                yield from edit_region(region, match.start(2), match.start(2), "\\")

    def _link_edits(
        self, region: Region, span: Span, judge: Callable[[str, str], LinkDecision]
    ) -> Iterator[Edit]:
        label = region.content[span.label_start : span.label_end]
        decision = judge(_EMPHASIS.sub("", label), span.href)
        yield from apply_decision(region, span, decision, mark=self.mark)

    def _image_edits(
        self,
        region: Region,
        span: Span,
        result: Rewriting,
        judge: Callable[[str, str], LinkDecision],
    ) -> Iterator[Edit]:
        label = region.content[span.label_start : span.label_end]
        if classify_link(_EMPHASIS.sub("", label), span.href, self._ctx).action != "strip":
            return
        judge(_EMPHASIS.sub("", label), span.href)
        result.images_removed += 1
        yield from edit_region(region, span.start, span.label_start, "")
        yield from edit_region(region, span.label_end, span.end, "")

    def _bare_ranges(self, text: str) -> Iterator[tuple[int, int, str | None]]:
        """What of a text some renderer links by itself, and may not: ranges and stand-ins.

        None stands for the text itself, as code.
        """
        for start, end in explicit_addresses(text):
            url = plain_url(text[start:end])
            if url is None or not self.stands(url):
                yield start, end, None
            elif not ends_everywhere(text, start, end):
                yield start, end, f"<{url}>"
        for start, end in emails(text):
            yield start, end, None
        for start in schemeless(text):
            yield start, start + 2, "/\\/"

    def _bare_edits(
        self, region: Region, free: str, judge: Callable[[str, str], LinkDecision]
    ) -> Iterator[Edit]:
        codes: list[tuple[int, int]] = []
        for start, end, stand_in in self._bare_ranges(free):
            if stand_in is None:
                codes.append((start, end))
            else:
                yield from edit_region(region, start, end, stand_in)
        for start, end in merged(codes):
            judge(free[start:end], plain_url(free[start:end]) or free[start:end])
            yield from self._as_code(region, start, end, free[start:end])
        for start, end in explicit_addresses(free):
            url = plain_url(free[start:end])
            if url is not None and self.stands(url):
                judge(free[start:end], url)
        if not codes:
            for start, end, decoded in encoded_runs(free):
                judge(decoded, decoded)
                yield from self._as_code(region, start, end, decoded)
        if codes:
            return
        # What is left once every explicit address is dealt with.
        for text in region.texts:
            for raw in fuzzy_hosts(text, self.stands):
                if len(raw) > MAX_WORD:
                    raise TooComplex
                found = False
                for match in re.finditer(re.escape(raw), free):
                    found = True
                    stand_in = raw.replace(".", "\\.").replace("//", "/\\/")
                    yield from edit_region(region, match.start(), match.end(), stand_in)
                if not found:
                    raise TooComplex

    def _as_code(self, region: Region, start: int, end: int, text: str) -> Iterator[Edit]:
        if "`" in region.free_text().replace(region.content[start:end], "", 1):
            # Beside a backtick that opens nothing, a new one might pair with it.
            raise TooComplex
        yield from edit_region(region, start, end, code_span(text))


def _without_tags(text: str) -> str:
    lines = re.sub(r"</?[A-Za-z][^<>]*>", " ", text).split("\n")
    return "\n".join(line.strip() for line in lines)
