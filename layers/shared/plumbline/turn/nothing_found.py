"""What a reader is told when there is no source. Source: design, decision 18."""

from __future__ import annotations

from plumbline.turn.plain_text import plain_text
from plumbline.turn.retrieval import RetrievalResult


def nothing_found_answer(
    result: RetrievalResult, *, repository: str | None = None, language: str | None = None
) -> str:
    """The answer in Markdown: what was searched, where, and what came nearest elsewhere.

    The nearest stand as titles, without links.
    """
    where = [f"the repository {plain_text(repository, 120)}"] if repository else []
    where += [f"the language {plain_text(language, 60)}"] if language else []
    scope = f" within {' and '.join(where)}" if where else " in the indexed code and documentation"
    searched = plain_text(result.searched, 200)
    lines = [f"I found nothing on this{scope}, so I will not guess. I searched for: {searched}"]
    if result.nearest:
        lines.append("Nearest outside it:")
        lines.append("\n".join(f"- {plain_text(near.title, 160)}" for near in result.nearest))
    else:
        lines.append("Other words, or the exact name of a function, file or setting, may find it.")
    return "\n\n".join(lines) + "\n"
