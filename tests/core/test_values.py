import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from surplus.engine._core import Value
from surplus.engine.values import dtype_of, elem_type_of, from_value, to_value
from tests.core.known_types import COMPLEX, KNOWN, NUMERIC

SHAPES = [(), (0,), (1,), (3, 0, 2), (2, 3), (5,)]


def values_of(elem_type, shape):
    small = np.arange(int(np.prod(shape))).reshape(shape) % 2  # fits every type
    return small.astype(dtype_of(elem_type))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("elem_type", NUMERIC)
def test_every_type_and_shape_survives(elem_type, shape):
    array = values_of(elem_type, shape)
    value = to_value(array)
    assert (value.kind, value.elem_type, value.shape) == ("tensor", elem_type, shape)
    back = from_value(value)
    assert back.dtype == array.dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize("elem_type", NUMERIC)
def test_transposed_arrays_are_copied_in_order(elem_type):
    array = values_of(elem_type, (3, 5)).T
    assert from_value(to_value(array)).tobytes() == array.tobytes()


@given(st.lists(st.integers(-8, 7), max_size=9))
def test_int4_keeps_its_sign(numbers):
    array = np.array(numbers, np.int64).astype(ml_dtypes.int4)
    assert from_value(to_value(array)).astype(int).tolist() == numbers


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [(ml_dtypes.int2, [-2, -1, 0, 1, -1]), (ml_dtypes.uint2, [0, 1, 2, 3, 2])],
)
@pytest.mark.skipif(TensorProto.INT2 not in KNOWN, reason="ONNX Runtime 1.31 is the first")
def test_two_bit_types_keep_their_numbers(dtype, numbers):
    assert from_value(to_value(np.array(numbers).astype(dtype))).astype(int).tolist() == numbers


def test_four_bit_elements_are_packed_low_bits_first():
    value = to_value(np.array([1, 2, 3]).astype(ml_dtypes.uint4))
    assert value.to_numpy().tolist() == [0x21, 0x03]
    assert value.nbytes == 2


@given(st.lists(st.text(), max_size=5))
def test_strings_survive(strings):
    array = np.array(strings, dtype=object)
    back = from_value(to_value(array))
    assert back.dtype == object
    assert back.tolist() == strings


def test_fixed_width_numpy_strings_and_bytes_are_strings():
    assert from_value(to_value(np.array([["ab", "c"]]))).tolist() == [["ab", "c"]]
    assert from_value(to_value(np.array([b"\xff", b"c"]))).tolist() == ["\udcff", "c"]


def test_contiguous_arrays_are_not_copied_either_way():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.shares_memory(from_value(to_value(array)), array)


def test_read_only_and_unaligned_arrays_are_taken():
    frozen = np.arange(3, dtype=np.int64)
    frozen.setflags(write=False)
    assert from_value(to_value(frozen)).tolist() == [0, 1, 2]
    odd = np.frombuffer(b"x" + np.arange(3, dtype=np.int64).tobytes(), np.int64, offset=1)
    assert from_value(to_value(odd)).tolist() == [0, 1, 2]


def test_scalars_become_tensors_without_dimensions():
    value = to_value(np.float32(2.5))
    assert value.shape == ()
    assert from_value(value) == 2.5


def test_none_and_values_pass_through():
    value = to_value(np.zeros(2))
    assert to_value(None) is None
    assert from_value(None) is None
    assert to_value(value) is value


def test_lists_are_sequences():
    arrays = [np.zeros((2, 2), np.int32), np.ones(3, np.int32), np.int32(7)]
    value = to_value(arrays)
    assert value.kind == "sequence"
    assert value.elem_type == 0
    assert value.nbytes == 4 * (4 + 3 + 1)
    for got, expected in zip(from_value(value), arrays, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_sequence_of_strings_keeps_them():
    value = to_value([np.array(["a", "b"], dtype=object), np.array([], dtype=object)])
    assert [item.tolist() for item in from_value(value)] == [["a", "b"], []]


def test_an_empty_list_is_an_empty_sequence():
    value = to_value([], TensorProto.INT64)
    assert (value.kind, value.nbytes, from_value(value)) == ("sequence", 0, [])


@pytest.mark.parametrize(
    ("data", "elem_type", "message"),
    [
        (np.zeros(2, ">f4"), None, "byte order"),
        (np.zeros(2, ">f4"), TensorProto.FLOAT, "byte order"),
        (np.zeros(2), TensorProto.FLOAT, "expected elements of float32, got float64"),
        (np.zeros(2), 99, "99 is not an ONNX element type"),
        (np.zeros(2, "M8[ns]"), None, "no element type for numpy's datetime64"),
        (np.zeros(2), TensorProto.STRING, "expected strings"),
        (np.array([1, "a"], dtype=object), None, "holds str or bytes, not int"),
        ([np.zeros(2), None], None, "cannot hold None"),
        ([[np.zeros(2)]], None, "[Tt]ensor"),  # no sequences of sequences
    ],
)
def test_what_onnx_cannot_hold_is_a_value_error(data, elem_type, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        to_value(data, elem_type)


def test_bytes_that_do_not_fit_the_shape_are_refused():
    with pytest.raises(ValueError, match="takes 2 bytes, not 3"):
        Value.from_packed(np.zeros(3, np.uint8), TensorProto.INT4, (3,))
    with pytest.raises(ValueError, match="negative"):
        Value.from_packed(np.zeros(3, np.uint8), TensorProto.INT4, (-3,))
    with pytest.raises(ValueError, match="more elements than memory"):
        Value.from_packed(np.zeros(3, np.uint8), TensorProto.INT4, (2**62, 2**62))


def test_the_core_checks_the_dtype_itself():
    with pytest.raises(ValueError, match="dtype <f8 does not hold"):
        Value.from_numpy(np.zeros(2), TensorProto.FLOAT)
    with pytest.raises(ValueError, match="dtype >f4 does not hold"):
        Value.from_numpy(np.zeros(2, ">f4"), TensorProto.FLOAT)


@pytest.mark.parametrize("elem_type", [*NUMERIC, TensorProto.STRING, *COMPLEX])
def test_dtypes_and_element_types_map_both_ways(elem_type):
    assert elem_type_of(dtype_of(elem_type)) == elem_type
