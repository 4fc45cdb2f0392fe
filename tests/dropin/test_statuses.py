"""ONNX Runtime's errors by number and name."""

from __future__ import annotations

import sys

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as theirs

from surplus.engine.dropin.statuses import STATE_MODULE, STATUSES, Fail, status, status_of
from surplus.engine.errors import EngineError


@pytest.mark.parametrize("name", STATUSES)
def test_the_loaded_modules_classes_catch_ours(name: str) -> None:
    error = status(STATUSES[name], "why")
    assert isinstance(error, getattr(theirs, name))
    assert isinstance(error, EngineError)
    assert type(error).__name__ == STATUSES[name].__name__
    assert error.bare == "why"


def test_all_of_the_modules_errors_are_there() -> None:
    kinds = {name: kind for name, kind in vars(theirs).items() if isinstance(kind, type)}
    errors = {name for name, kind in kinds.items() if issubclass(kind, Exception)}
    assert errors - set(STATUSES) <= {"DeviceReset"}


def test_without_the_module_they_are_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, STATE_MODULE)
    assert type(status(Fail, "why")) is Fail
    assert str(status(Fail, "why")) == "[ONNXRuntimeError] : 1 : FAIL : why"


def test_a_number_that_is_none_is_a_failure() -> None:
    assert isinstance(status_of(0, "why"), Fail)
    assert isinstance(status_of(10, "why"), STATUSES["InvalidGraph"])
