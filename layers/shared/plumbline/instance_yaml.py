"""YAML whose every value knows the line it stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from plumbline.errors import InstanceError

Location = tuple[str | int, ...]

# The same nodes and marks, composed in C where PyYAML has it: it is on the way to a first byte.
_Loader: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class LocatedYaml:
    """A document's plain value, and the 1-based line of each of its parts."""

    file: str
    value: object
    lines: Mapping[Location, int]

    def error(self, location: Sequence[str | int], problem: str) -> InstanceError:
        """``<file>:<line>: <path>: <problem>``, at the nearest part that exists."""
        line = 1
        for end in range(len(location), -1, -1):
            found = self.lines.get(tuple(location[:end]))
            if found is not None:
                line = found
                break
        path = ".".join(str(part) for part in location)
        return InstanceError(f"{self.file}:{line}: {path + ': ' if path else ''}{problem}.")


def load_located_yaml(text: str, file: str) -> LocatedYaml:
    """The first document of ``text``; ``InstanceError`` for what is no YAML, or a key twice."""
    loader = _Loader(text)
    lines: dict[Location, int] = {}
    try:
        node = loader.get_single_node()
        value = _plain(loader, node, (), lines, file) if node is not None else None
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(exc, "problem", None) or "is no YAML"
        raise InstanceError(f"{file}:{line}: {problem}.") from exc
    finally:
        loader.dispose()
    return LocatedYaml(file, value, lines)


def _plain(
    loader: yaml.SafeLoader | yaml.CSafeLoader,
    node: yaml.Node,
    location: Location,
    lines: dict[Location, int],
    file: str,
) -> object:
    lines[location] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = str(loader.construct_object(key_node))
            line = key_node.start_mark.line + 1
            if key in mapping:
                raise InstanceError(f"{file}:{line}: {key!r} stands here twice.")
            mapping[key] = _plain(loader, value_node, (*location, key), lines, file)
            # A value on the next line is found by its key's line.
            lines[(*location, key)] = line
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return tuple(
            _plain(loader, item, (*location, number), lines, file)
            for number, item in enumerate(node.value)
        )
    return loader.construct_object(node)
