"""Instance files: what ships, and what a mistake is told."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from plumbline.errors import InstanceError
from plumbline.instance import PROMPT_LABELS, SIGNAL_NAMES, Instance, load_instance, parse_instance

SHIPPED = ("default", "algolia-central")
INSTANCES = Path(__file__).resolve().parents[2] / "layers/shared/plumbline/instances"


@pytest.fixture
def text() -> str:
    return (INSTANCES / "default.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_instances_are_whole(name: str) -> None:
    instance = load_instance(name)
    assert instance.name == name
    assert set(instance.signals) == set(SIGNAL_NAMES)
    assert {"maverick", "elena", "bruno"} <= set(instance.personas)
    assert set(instance.handoff.targets) == {"elena", "bruno"}
    assert set(PROMPT_LABELS) <= set(instance.audit.leak_labels)


def test_algolia_central_is_seed_000s() -> None:
    instance = load_instance("algolia-central")
    assert instance.brand.name == "Algolia"
    assert instance.chip_map()["poor relevance"] == ("pain", "poor relevance")
    assert "solutions_engineer" in instance.personas["elena"].aliases
    assert instance.audit.label_suffix == "| Algolia"
    assert {"Namedrop", "VALUE SELL", "Customer Example", "SIGNAL EXTRACTION"} <= set(
        instance.audit.leak_labels
    )


def test_loaded_once_a_process() -> None:
    assert load_instance("default") is load_instance("default")


def test_reloaded_on_change_only_when_asked(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(text, encoding="utf-8")
    first = load_instance(path)
    path.write_text(text.replace("match_count: 8", "match_count: 3"), encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert load_instance(path) is first
    second = load_instance(path, reload_on_change=True)
    assert second.retrieval.match_count == 3
    assert load_instance(path, reload_on_change=True) is second


def test_a_third_instance_needs_no_code(tmp_path: Path, text: str) -> None:
    path = tmp_path / "third.yaml"
    path.write_text(text.replace("name: default", "name: third"), encoding="utf-8")
    assert load_instance(str(path)).name == "third"


def test_an_instance_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_instance("default").brand.name = "Other"


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


MISTAKES = {
    "wrong kind": ("match_count: 8", "match_count: many", "retrieval.match_count"),
    "out of range": ("match_count: 8", "match_count: 0", "retrieval.match_count"),
    "unknown field": ("match_count: 8", "match_cuont: 8", "retrieval.match_cuont"),
    "unquoted no": (
        "{label: It is slow, value: performance}",
        "{label: no, value: performance}",
        "signals.pain.chips.1.label",
    ),
    "boost unknown": ("boosts: [product_tag]", "boosts: [colour]", "signals.product.boosts.0"),
    "chip twice": (
        "{label: TypeScript, value: TypeScript}",
        "{label: python, value: TypeScript}",
        "signals.stack.chips.1.label",
    ),
    "alias twice": ("aliases: [architect,", "aliases: [Guide,", "personas.bruno.aliases.0"),
    "target is no specialist": ("    bruno:\n      - words", "    anna:\n      - words", "anna"),
    "not a host": ("- gitlab.com", "- https://gitlab.com/", "audit.allowed_hosts.1"),
}


@pytest.mark.parametrize(("old", "new", "where"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_line(text: str, old: str, new: str, where: str) -> None:
    assert old in text
    broken = text.replace(old, new, 1)
    with pytest.raises(InstanceError) as caught:
        parse_instance(broken, "own.yaml")
    message = caught.value.message
    assert message.startswith(f"own.yaml:{line_of(broken, new)}: ")
    assert where in message


def test_a_missing_signal_is_named_where_signals_stand(text: str) -> None:
    start, end = text.index("  industry:\n"), text.index("  product:\n")
    broken = text[:start] + text[end:]
    with pytest.raises(InstanceError, match=r"needs the signal 'industry'") as caught:
        parse_instance(broken, "own.yaml")
    assert f"own.yaml:{line_of(broken, 'signals:')}:" in caught.value.message


@pytest.mark.parametrize(
    ("broken", "line"),
    [
        # The text ends where the bracket should: the line after the last, as libyaml counts.
        ("name: [unclosed", 2),
        ("name: a\n\tbrand: x", 2),
        ("name: a\nname: b", 2),
        ("", 1),
        ("- a\n- b", 1),
        ("name: !!python/object:os.system x", 1),
    ],
)
def test_what_is_no_instance_at_all(broken: str, line: int) -> None:
    with pytest.raises(InstanceError, match=rf"^own\.yaml:{line}: "):
        parse_instance(broken, "own.yaml")


@pytest.mark.parametrize("name", ["nobody", "../secrets", "", "DEFAULT"])
def test_an_unknown_name_lists_what_ships(name: str) -> None:
    with pytest.raises(InstanceError) as caught:
        load_instance(name)
    if "/" not in name:
        assert "algolia-central, default" in caught.value.message


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InstanceError, match="UTF-8"):
        load_instance(path)


def test_the_model_forbids_what_it_does_not_know() -> None:
    assert Instance.model_config["extra"] == "forbid"


def test_the_docs_name_every_part_and_their_examples_are_valid(text: str) -> None:
    docs = (INSTANCES.parents[3] / "docs" / "instances.md").read_text(encoding="utf-8")
    for part in Instance.model_fields:
        assert f"`{part}" in docs, part
    whole = yaml.safe_load(text)
    for block in re.findall(r"```yaml\n(.*?)```", docs, re.S):
        if block.startswith("---"):
            continue
        example = yaml.safe_load(block)
        for part, value in example.items():
            whole[part] = {**whole[part], **value}
    instance = parse_instance(yaml.safe_dump(whole), "docs.yaml")
    assert instance.audit.allowed_hosts == ("github.com", "docs.acme.example")
    assert instance.chip_map()["slow results"] == ("pain", "slow results")
