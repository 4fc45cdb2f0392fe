"""Bindings as ONNX Runtime's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import surplus
from surplus import InferenceSession
from tests.dropin.pair import PLAIN, Pair, plain

X = np.array([[1, -1, 2]], np.float32)
I = np.array([1, 2])  # noqa: E741  # the model's input


@pytest.fixture(scope="module")
def numbers(cache: Path) -> Pair:
    content = onnx.parser.parse_model(PLAIN).SerializeToString()
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return Pair(InferenceSession(content, devices="cpu:1", cache=cache), theirs)


def bound(session: Any) -> Any:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("i", I)
    return binding


def test_outputs_come_in_the_order_in_which_they_were_bound(numbers: Pair) -> None:
    def ask(session: Any) -> Any:
        binding = bound(session)
        binding.bind_output("j")
        binding.bind_output("y", "cpu")
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        values = [value.numpy() for value in binding.get_outputs()]
        copies = binding.copy_outputs_to_cpu()
        binding.clear_binding_outputs()
        return values, copies, binding.get_outputs()

    numbers.same_answers(ask)


def test_memory_of_the_programs_is_read_and_written(numbers: Pair) -> None:
    def ask(session: Any) -> Any:
        binding, answer, given = session.io_binding(), np.zeros((1, 3), np.float32), X.copy()
        address = given.ctypes.data
        binding.bind_input("x", "cpu", 0, np.float32, given.shape, address)
        binding.bind_cpu_input("i", I)
        binding.bind_output("y", "cpu", 0, np.float32, answer.shape, answer.ctypes.data)
        session.run_with_iobinding(binding)
        first = answer.copy()
        given *= 5
        session.run_with_iobinding(binding)
        return first, answer

    numbers.same_answers(ask)


@pytest.mark.parametrize("module", [surplus, onnxruntime])
def test_values_are_read_and_written(numbers: Pair, module: Any) -> None:
    session = numbers.ours if module is surplus else numbers.theirs
    binding = bound(session)
    given = module.OrtValue.ortvalue_from_numpy(X.copy())
    answer = module.OrtValue.ortvalue_from_shape_and_type([1, 3], np.float32)
    binding.bind_ortvalue_input("x", given)
    binding.bind_ortvalue_output("y", answer)
    given.update_inplace(X * 3)
    session.run_with_iobinding(binding)
    assert plain(answer.numpy()) == plain(np.maximum(X * 3, 0))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda s: bound(s).bind_cpu_input("z", X),
        lambda s: bound(s).bind_output("y", "nothing"),
        lambda s: run_bound(s, "nothing"),
        lambda s: run_bound(s, "y", X.astype(np.float64)),
        lambda s: run_bound(s, "y", X[0]),
    ],
)
def test_what_is_wrong_is_refused_by_the_same_class(numbers: Pair, wrong: Any) -> None:
    numbers.same_error(wrong, text=False)


def run_bound(session: Any, output: str, x: np.ndarray[Any, Any] = X) -> None:
    binding = bound(session)
    binding.bind_cpu_input("x", x)
    binding.bind_output(output)
    session.run_with_iobinding(binding)


@pytest.mark.parametrize("module", [surplus, onnxruntime])
def test_an_output_of_another_size_is_refused(numbers: Pair, module: Any) -> None:
    session = numbers.ours if module is surplus else numbers.theirs
    binding = bound(session)
    binding.bind_ortvalue_output(
        "y", module.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    )
    with pytest.raises(RuntimeError, match="but the computed output shape for this run is"):
        session.run_with_iobinding(binding)


def test_a_binding_is_of_one_session(numbers: Pair, pair: Pair) -> None:
    with pytest.raises(ValueError, match="must be used with the session that created it"):
        numbers.ours.run_with_iobinding(pair.ours.io_binding())


def test_an_input_that_is_not_bound_is_missed(numbers: Pair) -> None:
    binding = bound(numbers.ours)
    binding.clear_binding_inputs()
    binding.bind_output("y")
    with pytest.raises(RuntimeError, match=r"Required inputs \(\['x', 'i'\]\) are missing"):
        numbers.ours.run_with_iobinding(binding)
    with pytest.raises(ValueError, match="pre-allocated memory"):
        binding.bind_output("y", buffer_ptr=1)
