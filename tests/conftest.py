"""What every test can ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def _observed() -> Iterator[None]:
    """What the template gives every function, so that metrics are written in tests as well."""
    patch = pytest.MonkeyPatch()
    patch.setenv("POWERTOOLS_SERVICE_NAME", "plumbline")
    patch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Plumbline")
    yield
    patch.undo()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data (``PLUMBLINE_DATA``); a test that needs it skips without it."""
    folder = Path(os.environ.get("PLUMBLINE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("PLUMBLINE_DATA: no folder of real data here")
    return folder
