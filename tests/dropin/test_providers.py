"""Providers: what is named and not there is warned of, as by ONNX Runtime."""

from __future__ import annotations

from typing import Any

import onnxruntime
import pytest

from surplus.engine.dropin.providers import (
    CPU,
    chosen_providers,
    get_all_providers,
    get_available_providers,
)


def test_names_are_those_of_onnxruntime() -> None:
    assert get_available_providers() == onnxruntime.get_available_providers()
    assert set(get_all_providers()) >= set(onnxruntime.get_all_providers())


@pytest.mark.parametrize(
    ("providers", "options"),
    [(None, None), ([], None), ([CPU], None), ([(CPU, {"a": 1})], None), ([CPU], [{"a": 1}])],
)
def test_the_cpus_is_there(providers: Any, options: Any) -> None:
    assert chosen_providers(providers, options, falls_back=False) == [CPU]


def test_those_in_use_are_in_the_order_asked_for() -> None:
    available = get_available_providers()
    assert chosen_providers(available, None, falls_back=False) == available


def test_what_is_not_there_is_warned_of_once() -> None:
    with pytest.warns(UserWarning, match="provider") as said:
        chosen_providers([("CUDAExecutionProvider", {}), CPU], None, falls_back=False)
    names = ", ".join(onnxruntime.get_available_providers())
    assert [str(each.message) for each in said] == [
        "Specified provider 'CUDAExecutionProvider' is not in available provider names."
        f"Available providers: '{names}'"
    ]
    with pytest.warns(UserWarning, match="provider") as said:
        assert chosen_providers(["Nothing"], None, falls_back=True) == [CPU]
    assert len(said) == 1


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
        chosen_providers(providers, options, falls_back=False)
    with pytest.warns(UserWarning, match=text):
        chosen_providers(providers, options, falls_back=True)


def test_a_name_that_nobody_knows() -> None:
    with pytest.warns(UserWarning, match="'X'"), pytest.raises(RuntimeError, match="Type: X"):
        chosen_providers(["X"], None, falls_back=False)
