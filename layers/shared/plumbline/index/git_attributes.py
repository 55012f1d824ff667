"""What ``.gitattributes`` says of files: ``linguist-generated`` and ``linguist-vendored``."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

FILE_NAME = ".gitattributes"
_MAX_BYTES = 64 * 1024
_MAX_RULES = 200
_MAX_PATTERN = 200
_REASONS = {"linguist-generated": "generated", "linguist-vendored": "vendored"}
_OFF = frozenset({"false", "0", "no"})


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern below a folder, each as its segments, and what it says of one attribute."""

    folder: tuple[str, ...]
    pattern: tuple[str, ...]
    reason: str
    value: bool

    def holds_for(self, path: tuple[str, ...]) -> bool:
        depth = len(self.folder)
        return path[:depth] == self.folder and _matches(self.pattern, path[depth:])


@dataclass(slots=True)
class GitAttributes:
    """The rules read so far. They hold for the members that come after them: nearly all of a
    folder, in the sorted archives that Git makes.
    """

    _rules: list[_Rule] = field(default_factory=list)

    def add(self, path: str, data: bytes) -> None:
        """Read a ``.gitattributes`` at ``path``. Of a file over 64 kB, and of more than 200 rules
        in all, the rest is ignored; so is what is no rule.
        """
        folder = tuple(path.split("/")[:-1])
        for line in data[:_MAX_BYTES].decode("utf-8", "replace").split("\n"):
            pattern, attributes = _split(line.strip())
            for attribute in attributes:
                rule = _rule(folder, pattern, attribute)
                if rule is not None and len(self._rules) < _MAX_RULES:
                    self._rules.append(rule)
        # A deeper file's word counts more; within a file the last.
        self._rules.sort(key=lambda rule: len(rule.folder))

    def reason(self, path: str) -> str | None:
        """ "generated" or "vendored" if the rules say so of the file, else None."""
        if not self._rules:
            return None
        segments = tuple(path.split("/"))
        for reason in _REASONS.values():
            for rule in reversed(self._rules):
                if rule.reason == reason and rule.holds_for(segments):
                    if rule.value:
                        return reason
                    break
        return None


def _split(line: str) -> tuple[str, list[str]]:
    if line.startswith('"'):
        pattern, _, rest = line[1:].partition('"')
    else:
        pattern, _, rest = line.replace("\t", " ").partition(" ")
    if not pattern or line.startswith(("#", "[attr]")) or len(pattern) > _MAX_PATTERN:
        return "", []
    return pattern, rest.split()


def _rule(folder: tuple[str, ...], pattern: str, attribute: str) -> _Rule | None:
    """The rule; Git's ``-name`` and ``name=false`` unset, ``!name`` leaves it unsaid."""
    name, _, value = attribute.removeprefix("-").removeprefix("!").partition("=")
    reason = _REASONS.get(name)
    if reason is None or not pattern:
        return None
    on = not attribute.startswith(("-", "!")) and value.lower() not in _OFF
    # Without a slash, other than one at the end, a pattern is of names, at any depth.
    anchored = "/" in pattern
    segments = tuple(pattern.lstrip("/").split("/"))
    return _Rule(folder, segments if anchored else ("**", *segments), reason, on)


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether the path is the pattern's: ``*`` stays in a segment, ``**`` takes any number.

    Goes back to the last ``**`` alone, so the steps are at most the product of the lengths.
    """
    i = j = 0
    star, mark = -1, 0
    while j < len(path):
        if i < len(pattern) and pattern[i] == "**":
            star, mark = i, j
            i += 1
            if i == len(pattern):
                return True
        elif i < len(pattern) and fnmatchcase(path[j], pattern[i]):
            i, j = i + 1, j + 1
        elif star >= 0:
            mark += 1
            i, j = star + 1, mark
        else:
            return False
    return i == len(pattern)
