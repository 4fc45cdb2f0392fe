"""Values as ONNX Runtime's: shared memory, types, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest

import surplus
from surplus.engine.dlpack import _content, array_of
from surplus.engine.dropin.ort_value import OrtValueVector, copy_tensors
from tests.dropin.pair import caught

MODULES = [surplus, onnxruntime]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def facts(value: Any) -> tuple[Any, ...]:
    return (
        value.data_type(),
        value.element_type(),
        list(value.shape()),
        value.device_name(),
        value.is_tensor(),
        value.is_sparse_tensor(),
        value.is_tensor_sequence(),
        value.has_value(),
        value.tensor_size_in_bytes(),
        value.numpy().tolist(),
    )


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i1", "u1", "i8", "u8", "?"])
def test_facts_are_those_of_onnxruntime(kind: str) -> None:
    ours, theirs = (m.OrtValue.ortvalue_from_numpy(X.astype(kind)) for m in MODULES)
    assert facts(ours) == facts(theirs)


@pytest.mark.parametrize("module", MODULES)
def test_memory_is_the_arrays(module: Any) -> None:
    array = X.copy()
    value = module.OrtValue.ortvalue_from_numpy(array)
    assert value.data_ptr() == array.ctypes.data
    value.update_inplace(X * 2)
    assert array.tolist() == (X * 2).tolist()
    assert np.asarray(value).tolist() == array.tolist()
    assert np.from_dlpack(value).tolist() == array.tolist()
    assert type(value).from_dlpack(array).numpy().tolist() == array.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.int64, 10, 7])
def test_memory_is_made(kind: Any) -> None:
    ours, theirs = (m.OrtValue.ortvalue_from_shape_and_type([2, 3], kind) for m in MODULES)
    assert (ours.shape(), ours.data_type()) == (list(theirs.shape()), theirs.data_type())


def test_types_that_numpy_lacks() -> None:
    bits = np.array([0x3F80, 0x4000], np.uint16)
    ours, theirs = (m.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16) for m in MODULES)
    assert (ours.data_type(), ours.element_type()) == (theirs.data_type(), theirs.element_type())
    assert ours.numpy().astype(np.float32).tolist() == [1, 2]
    with pytest.raises(ValueError, match="not as wide"):
        surplus.OrtValue.ortvalue_from_numpy_with_onnx_type(X, 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda kind: kind.ortvalue_from_numpy([1, 2]),
        lambda kind: kind.ortvalue_from_numpy(np.array(["text"])),
        lambda kind: kind.ortvalue_from_numpy(X, "nothing", 0),
        lambda kind: kind.ortvalue_from_numpy(X).update_inplace([1]),
        lambda kind: kind.ortvalue_from_numpy(X).update_inplace(np.zeros(9, np.float32)),
    ],
)
def test_wrong_values_are_refused_by_the_same_class(make: Any) -> None:
    ours, theirs = (caught(make, module.OrtValue) for module in MODULES)
    assert type(ours) is type(theirs)
    assert str(ours) == str(theirs)


def test_another_memory_is_refused_by_name() -> None:
    with pytest.raises(RuntimeError, match="'cuda'"):
        surplus.OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    with pytest.raises(RuntimeError, match="float32, the data of float64"):
        surplus.OrtValue(X.copy()).update_inplace(np.zeros((2, 3)))


@pytest.mark.parametrize("module", MODULES)
def test_capsules_are_taken(module: Any) -> None:
    array = X.copy()
    value = module.OrtValue.from_dlpack(module.OrtValue.ortvalue_from_numpy(array).__dlpack__())
    assert value.numpy().tolist() == array.tolist()
    assert value.data_ptr() == array.ctypes.data
    flags = module.OrtValue.ortvalue_from_numpy(np.array([True, False]))
    assert module.OrtValue.from_dlpack(flags.__dlpack__()).data_type() == "tensor(bool)"
    for wrong in (3, None, X.dtype):
        with pytest.raises(TypeError):
            module.OrtValue.from_dlpack(wrong)


@pytest.mark.parametrize("module", MODULES)
def test_bfloat16_is_taken_and_given_as_a_capsule(module: Any) -> None:
    bits = np.array([0x3F80, 0x4000], np.uint16)
    made = module.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
    value = module.OrtValue.from_dlpack(made.__dlpack__())
    assert (value.data_type(), list(value.shape())) == ("tensor(bfloat16)", [2])
    assert value.data_ptr() == bits.ctypes.data
    ours = surplus.OrtValue.from_dlpack(made)
    assert ours.numpy().astype(np.float32).tolist() == [1, 2]


def test_a_capsule_is_used_once_and_lies_on_the_cpu() -> None:
    capsule = X.copy().__dlpack__()
    surplus.OrtValue.from_dlpack(capsule)
    with pytest.raises(TypeError, match="valid DLPack capsule"):
        surplus.OrtValue.from_dlpack(capsule)
    elsewhere = X.copy().__dlpack__()
    _content(elsewhere).device_type = 2
    with pytest.raises(RuntimeError, match="DLPack's device 2"):
        surplus.OrtValue.from_dlpack(elsewhere)
    _content(elsewhere).device_type = 1


def test_a_value_is_its_own_handle() -> None:
    value = surplus.OrtValue.ortvalue_from_numpy(X.copy())
    assert value._get_c_value() is value._ortvalue
    assert type(value._ortvalue).__name__ == type(theirs()._ortvalue).__name__
    again = surplus.OrtValue(value._ortvalue)
    assert again.data_ptr() == value.data_ptr()
    assert not hasattr(value, "nothing")
    with pytest.raises(RuntimeError, match="does not contain SparseTensor"):
        value.as_sparse_tensor()
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented, match="sparse"):
        surplus.OrtValue.ort_value_from_sparse_tensor(None)


def theirs() -> onnxruntime.OrtValue:
    return onnxruntime.OrtValue.ortvalue_from_numpy(X)


def test_public_names_are_those_of_onnxruntime() -> None:
    def names(value: Any) -> list[str]:
        return [name for name in dir(value) if not name.startswith("_")]

    assert names(surplus.OrtValue(X)) == names(theirs())


def test_values_one_after_another_are_those_of_onnxruntime() -> None:
    state = onnxruntime.capi.onnxruntime_pybind11_state
    made = {OrtValueVector: surplus.OrtValue, state.OrtValueVector: onnxruntime.OrtValue}
    found = []
    for kind, of in made.items():
        vector = kind()
        vector.reserve(2)
        vector.push_back(of.ortvalue_from_numpy(X)._ortvalue)
        vector.push_back(of.ortvalue_from_numpy(X[:1].copy())._ortvalue)
        vector.shrink_to_fit()
        capsules = vector.to_dlpacks(None)
        arrays = [array_of(each).tolist() for each in (*capsules, vector.dlpack_at(1))]
        found.append((len(vector), list(vector[1].shape()), vector.element_type_at(0), arrays))
        assert [of(each).numpy().shape for each in vector] == [(2, 3), (1, 3)]
    assert found[0] == found[1]


def test_tensors_are_copied() -> None:
    source, target = surplus.OrtValue(X), surplus.OrtValue(np.zeros_like(X))
    copy_tensors([source], [target])
    assert target.numpy().tolist() == X.tolist()


def test_a_sequence_is_a_value() -> None:
    value = surplus.OrtValue([X, X])
    assert (value.is_tensor(), value.is_tensor_sequence()) == (False, True)
    assert value.data_type() == "seq(tensor(float))"
    with pytest.raises(RuntimeError, match="Tensors"):
        value.numpy()
    assert not surplus.OrtValue(None).has_value()
