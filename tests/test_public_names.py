"""What ``surplus`` shows: its names, by ``dir`` and by ``from surplus import *``."""

from __future__ import annotations

import subprocess
import sys

import pytest

import surplus
from surplus.engine import errors


def test_all_that_is_named_is_there() -> None:
    assert set(surplus.__all__) <= set(dir(surplus))
    for name in surplus.__all__:
        assert getattr(surplus, name) is not None
    assert surplus.__all__ == sorted(surplus.__all__)
    assert "annotations" not in dir(surplus)


def test_errors_are_named_and_are_a_tree() -> None:
    assert surplus.errors is errors
    for name in surplus.__all__:
        if name.endswith("Error"):
            assert getattr(surplus, name) is getattr(errors, name)
            assert issubclass(getattr(surplus, name), surplus.EngineError)


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="module 'surplus' has no attribute 'lod'"):
        surplus.lod  # type: ignore[attr-defined]  # noqa: B018


def test_names_are_shown_without_being_imported() -> None:
    script = "import sys, surplus; dir(surplus); sys.exit('surplus.engine' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
