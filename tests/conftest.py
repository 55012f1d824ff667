"""What every test can ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data (``PLUMBLINE_DATA``); a test that needs it skips without it."""
    folder = Path(os.environ.get("PLUMBLINE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("PLUMBLINE_DATA: no folder of real data here")
    return folder
