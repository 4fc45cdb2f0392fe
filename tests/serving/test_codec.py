import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.engine.errors import InputError
from surplus.engine.native import load_runtime
from surplus.engine.serving.codec import decode_raw, decode_typed, encode_raw
from surplus.engine.serving.datatypes import DATATYPES, datatype_of
from surplus.engine.serving.messages import message_type
from surplus.engine.values import from_value, to_value

Contents = message_type("InferTensorContents")
NUMERIC = [name for name in DATATYPES if name != "BYTES"]


@pytest.mark.parametrize("datatype", NUMERIC)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_raw_round_trip(datatype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 2).astype(DATATYPES[datatype].dtype)
    array = array.reshape(shape)
    decoded = decode_raw("x", datatype, shape, bytes(encode_raw(array)))
    assert decoded.dtype == array.dtype
    assert decoded.shape == shape
    np.testing.assert_array_equal(decoded, array)


@given(st.lists(st.binary()))
def test_strings_round_trip(strings):
    array = np.empty(len(strings), object)
    array[:] = strings
    decoded = decode_raw("x", "BYTES", (len(strings),), bytes(encode_raw(array)))
    assert decoded.tolist() == strings


@pytest.mark.parametrize(
    "array",
    [np.array(["a", "bc"]), np.array([b"a", b"bc"]), np.array(["a", b"bc"], dtype=object)],
)
def test_every_kind_of_string_array_is_bytes(array):
    assert datatype_of(array) == "BYTES"
    assert encode_raw(array) == b"\1\0\0\0a\2\0\0\0bc"


@given(st.lists(st.binary()))
def test_strings_of_a_model_are_bytes(strings):
    """They come out of the core as text, single surrogates where bytes are no UTF-8."""
    load_runtime()
    array = np.empty(len(strings), object)
    array[:] = strings
    answer = from_value(to_value(array))
    assert encode_raw(answer) == encode_raw(array)


def test_raw_shares_memory_when_aligned_and_copies_when_not():
    data = np.arange(4, dtype=np.float32).tobytes()
    assert np.shares_memory(decode_raw("x", "FP32", (4,), data), np.frombuffer(data, np.uint8))
    shifted = memoryview(b"." + data)[1:]
    decoded = decode_raw("x", "FP32", (4,), shifted)
    assert decoded.flags.aligned
    assert decoded.tolist() == [0, 1, 2, 3]


def test_encoding_makes_no_copy_and_keeps_row_major_order():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert np.shares_memory(encode_raw(array), array)
    assert bytes(encode_raw(array.T)) == np.ascontiguousarray(array.T).tobytes()
    assert bytes(encode_raw(np.array(1, ml_dtypes.bfloat16))) == b"\x80\x3f"


@pytest.mark.parametrize("datatype", [n for n, d in DATATYPES.items() if d.contents_field])
def test_typed_round_trip(datatype):
    kind = DATATYPES[datatype]
    values = [b"a", b"", b"\xff"] if datatype == "BYTES" else [1, 0, 1]
    contents = Contents(**{kind.contents_field: values})
    decoded = decode_typed("x", datatype, (1, 3), contents)
    assert decoded.dtype == kind.dtype
    assert decoded.tolist() == [values]


@pytest.mark.parametrize(
    ("datatype", "shape", "data", "message"),
    [
        ("FLOAT", (1,), b"1234", "unknown datatype 'FLOAT'"),
        ("FP32", (2,), b"1234", "takes 8 bytes, got 4"),  # too few
        ("FP32", (0,), b"1234", "takes 0 bytes, got 4"),  # too many
        ("FP32", (-1,), b"1234", "negative size"),  # a request must say the size
        ("FP32", (2**62, 2**62), b"1234", "takes"),  # no overflow into a small number
        ("FP32", (0, 2**62, 2**62), b"", "rank 3"),  # fits in bytes, not in numpy
        ("FP32", (1,) * 33, b"1234", "rank 33, at most 32"),
        ("BOOL", (2,), b"\0\2", "bytes of 0 or 1"),
        ("BYTES", (2,), b"\1\0\0\0a", "too few for 2 strings"),
        ("BYTES", (1,), b"\2\0\0\0a", "within string 0"),
        ("BYTES", (2,), b"\4\0\0\0abcd", "before string 1"),
        ("BYTES", (1,), b"\0\0\0\0xyz", "3 bytes left over"),
        ("BYTES", (2**40,), b"\0\0\0\0", "too few"),  # refused before any allocation
    ],
)
def test_wrong_raw_contents(datatype, shape, data, message):
    with pytest.raises(InputError, match=rf"^input 'x'.*{message}"):
        decode_raw("x", datatype, shape, data)


@pytest.mark.parametrize(
    ("datatype", "shape", "contents", "message"),
    [
        ("FP16", (1,), {"fp32_contents": [1]}, "send it raw"),
        ("FP32", (1,), {"int_contents": [1]}, "takes fp32_contents, got int_contents"),
        ("FP32", (2,), {"fp32_contents": [1]}, "takes 2 values in fp32_contents, got 1"),
        ("FP32", (1,), {}, "got 0"),
        ("INT8", (2,), {"int_contents": [1, 128]}, "holds -128 to 127, got 1 to 128"),
        ("INT16", (1,), {"int_contents": [-32769]}, "holds -32768"),
        ("UINT8", (1,), {"uint_contents": [256]}, "holds 0 to 255"),
    ],
)
def test_wrong_typed_contents(datatype, shape, contents, message):
    with pytest.raises(InputError, match=rf"^input 'x'.*{message}"):
        decode_typed("x", datatype, shape, Contents(**contents))


def test_dtype_without_a_datatype():
    with pytest.raises(ValueError, match="no datatype for complex128"):
        datatype_of(np.zeros(1, complex))
