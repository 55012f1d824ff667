"""The collector rests while a file is read, and works again whatever happens."""

from __future__ import annotations

import gc

import pytest

from plumbline.index.collector import collector_paused


def test_the_collector_rests_inside_and_works_afterwards() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_works_again_after_an_error() -> None:
    with pytest.raises(ValueError, match="bad file"), collector_paused():
        raise ValueError("bad file")
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        with collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
