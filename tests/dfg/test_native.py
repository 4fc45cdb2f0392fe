import numpy as np
import pytest
from onnx import TensorProto

from engine.errors import RuntimeLibraryError
from engine.native import LIBRARY_VARIABLE, find_library, load_runtime, value_of


def test_library_is_found_and_loaded() -> None:
    assert find_library().name.startswith("libonnxruntime.so")
    assert load_runtime()[0].isdigit()


def test_named_library_must_exist(monkeypatch) -> None:
    monkeypatch.setenv(LIBRARY_VARIABLE, "/nowhere/libonnxruntime.so")
    with pytest.raises(RuntimeLibraryError, match="no such file"):
        find_library()


def test_missing_wheel_says_what_to_do(monkeypatch) -> None:
    monkeypatch.delenv(LIBRARY_VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(RuntimeLibraryError, match="pip install onnxruntime"):
        find_library()


@pytest.mark.parametrize(
    ("array", "elem_type"),
    [
        (np.ones((2, 3), np.float32), TensorProto.FLOAT),
        (np.array(3), TensorProto.INT64),
        (np.array([True, False]), TensorProto.BOOL),
        (np.array([["a", "bc"]]), TensorProto.STRING),
    ],
)
def test_values(array, elem_type: int) -> None:
    made = value_of(array, elem_type)
    assert made.elem_type == elem_type
    assert tuple(made.shape) == array.shape
    np.testing.assert_array_equal(made.to_numpy(), array)
