"""Imports run one way: down the list of the design's section 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYER = ROOT / "layers" / "shared" / "plumbline"

GROUND = {"errors", "http", "sources", "instance", "instance_yaml", "policy", "observability"}
# Each room, and the rooms that it may import beside itself.
ROOMS: dict[str, set[str]] = {
    "lambda_runtime": {"runtime_response"},
    "runtime_response": set(),
    "errors": set(),
    "sources": set(),
    "policy": set(),
    "instance_yaml": {"errors"},
    "instance": {"errors", "policy", "instance_yaml"},
    "http": {"errors"},
    "observability": set(),
    "settings": {"errors"},
    "index": GROUND,
    "search": GROUND | {"index"},
    "audit": GROUND | {"index"},
    "gate": GROUND,
    "turn": GROUND | {"search", "audit", "index", "gate"},
    "lookups": GROUND | {"gate", "search", "index"},
    "web_page": {"http"},
    "routes": GROUND | {"gate", "turn", "lookups"},
    # An adapter knows the shapes of the Protocol that it implements.
    "adapters": GROUND | {"gate", "turn", "search", "index"},
    "wiring": {"*"},
}
VENDORS = {"algoliasearch", "boto3", "botocore", "google", "redis", "requests"}
VENDORS |= {"developer_toolkit_elasticache", "httpx2"}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room"
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _room(module: str) -> str:
    return [*module.split("."), "", ""][1]


FILES = sorted(LAYER.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LAYER)))
def test_a_file_imports_only_rooms_below_its_own(path: Path) -> None:
    room = path.relative_to(LAYER).parts[0].removesuffix(".py")
    if room == "__init__":
        assert not [name for name in _imports(path) if name.startswith("plumbline")]
        return
    allowed = ROOMS[room]
    for module in _imports(path):
        top = module.split(".")[0]
        assert top not in ("functions", "devstack"), f"the layer imports {module}"
        if top == "plumbline" and _room(module):
            target = _room(module)
            if target in ROOMS:
                fine = target == room or target in allowed or "*" in allowed
                assert fine, f"{room} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LAYER)))
def test_vendors_stay_in_the_adapters(path: Path) -> None:
    if path.parent.name == "adapters":
        return
    strays = [name for name in _imports(path) if name.split(".")[0] in VENDORS]
    assert not strays


def test_functions_hold_one_python_file_of_at_most_sixty_lines() -> None:
    for folder in (ROOT / "functions").iterdir():
        files = list(folder.rglob("*.py"))
        assert [file.name for file in files] == ["handler.py"], folder
        assert len(files[0].read_text(encoding="utf-8").splitlines()) <= 60, folder
        for module in _imports(files[0]):
            assert not module.startswith(("devstack", "plumbline.adapters")), module


def test_every_room_is_known() -> None:
    rooms = {path.relative_to(LAYER).parts[0].removesuffix(".py") for path in FILES}
    assert rooms - {"__init__"} <= set(ROOMS)
