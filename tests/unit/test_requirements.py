"""The functions' locked requirements against pyproject.toml: nothing missing, nothing twice."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
LAYER = ROOT / "layers/shared/requirements.txt"
INDEX_REPO = ROOT / "functions/index_repo/requirements.txt"
# The managed runtime's own; a second botocore beside its boto3 would not fit.
OF_THE_RUNTIME = {"boto3", "botocore", "s3transfer"}
LAMBDA = {
    "python_version": "3.13",
    "python_full_version": "3.13.0",
    "platform_machine": "aarch64",
    "sys_platform": "linux",
}


def _declared(extra: str | None) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    requirements = [Requirement(line) for line in lines]
    return [it for it in requirements if it.marker is None or it.marker.evaluate(LAMBDA)]


def _pinned(path: Path) -> dict[str, Version]:
    pins = re.findall(r"^([A-Za-z0-9._-]+)==(\S+) \\$", path.read_text(), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pins}


@pytest.mark.parametrize(("path", "extra"), [(LAYER, None), (INDEX_REPO, "index")])
def test_what_is_declared_is_pinned(path: Path, extra: str | None) -> None:
    pinned = _pinned(path)
    declared = _declared(extra)
    assert declared
    for requirement in declared:
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is not in {path.name}; run `make lock`"
        assert requirement.specifier.contains(pinned[name]), f"{name}: run `make lock`"


@pytest.mark.parametrize("path", [LAYER, INDEX_REPO])
def test_every_pin_has_hashes(path: Path) -> None:
    blocks = re.split(r"^(?=[A-Za-z0-9])", path.read_text(), flags=re.MULTILINE)
    named = [block for block in blocks if "==" in block.partition("\n")[0]]
    assert len(named) == len(_pinned(path))
    assert all("--hash=sha256:" in block for block in named)


def test_the_indexing_function_brings_only_what_the_layer_lacks() -> None:
    assert set(_pinned(INDEX_REPO)) == {
        canonicalize_name(requirement.name) for requirement in _declared("index")
    }
    assert not set(_pinned(INDEX_REPO)) & set(_pinned(LAYER))


def test_the_layer_leaves_boto3_to_the_runtime() -> None:
    assert not OF_THE_RUNTIME & set(_pinned(LAYER))


def test_what_a_package_needs_comes_along() -> None:
    """As the installed packages declare it: only the runtime's own may be missing."""
    brought = set(_pinned(LAYER)) | set(_pinned(INDEX_REPO))
    missing = {
        (name, needed)
        for name in brought
        for needed in _needs(name)
        if needed not in brought | OF_THE_RUNTIME
    }
    assert missing == set()


def _needs(name: str) -> set[str]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:  # only for another platform, or another Python
        return set()
    needed = [Requirement(line) for line in lines]
    wanted = [
        it for it in needed if it.marker is None or it.marker.evaluate(LAMBDA | {"extra": ""})
    ]
    return {canonicalize_name(it.name) for it in wanted}
