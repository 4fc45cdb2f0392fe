"""Providers: what is named and not there is warned of, as by ONNX Runtime."""

from __future__ import annotations

from typing import Any

import onnxruntime
import pytest

from surplus.engine.dropin.providers import (
    CPU,
    check_providers,
    get_all_providers,
    get_available_providers,
)


def test_names_are_those_of_onnxruntime() -> None:
    assert get_available_providers() == [CPU]
    assert set(get_all_providers()) >= set(onnxruntime.get_all_providers())


@pytest.mark.parametrize(
    ("providers", "options"),
    [(None, None), ([], None), ([CPU], None), ([(CPU, {"a": 1})], None), ([CPU], [{"a": 1}])],
)
def test_the_cpus_is_there(providers: Any, options: Any) -> None:
    check_providers(providers, options, falls_back=False)


def test_what_is_not_there_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not in available provider"):
        check_providers([("CUDAExecutionProvider", {}), CPU], None, falls_back=False)


@pytest.mark.parametrize(
    ("providers", "options", "text"),
    [
        (CPU, None, "should be a sequence"),
        ([3], None, "must be either strings or"),
        ([CPU], [], "the same length"),
        ([CPU], {}, "'provider_options' should be a sequence"),
        ([(CPU, {})], [{}], "Only string values"),
        ([CPU], [3], "values must be dicts"),
    ],
)
def test_wrong_providers_are_refused_or_warned_of(providers: Any, options: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        check_providers(providers, options, falls_back=False)
    with pytest.warns(UserWarning, match=text):
        check_providers(providers, options, falls_back=True)


def test_a_name_that_nobody_knows() -> None:
    state = onnxruntime.capi.onnxruntime_pybind11_state
    with pytest.warns(UserWarning, match="'X'"), pytest.raises(state.Fail, match="Type: X"):
        check_providers(["X"], None, falls_back=False)
