"""template.yaml as the tests read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms spelt out."""


def _construct(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


_Loader.add_multi_constructor("!", _construct)

# _Loader is a SafeLoader.
TEMPLATE: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), Loader=_Loader)
PARAMETERS: dict[str, dict[str, Any]] = TEMPLATE["Parameters"]
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]


def properties(name: str) -> dict[str, Any]:
    """A resource's properties."""
    found: dict[str, Any] = RESOURCES[name]["Properties"]
    return found


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: it["Properties"] for name, it in RESOURCES.items() if it["Type"] == kind}
