"""Outputs as their largest values; the rest is among the conformance cases."""

import ml_dtypes
import numpy as np
import pytest

from surplus.engine.errors import InputError
from surplus.engine.serving.classification import Classes, classified


def _places(values, count):
    return [int(text.split(b":")[1]) for text in classified("y", np.asarray(values), count)]


def test_of_equal_values_the_earlier_comes_first():
    assert _places([1, 3, 3, 2, 3], 2) == [1, 2]
    assert _places(np.zeros(5, np.float32), 3) == [0, 1, 2]


def test_what_is_no_number_comes_last():
    values = np.array([np.nan, 1, -np.inf, np.nan, np.inf])
    assert _places(values, 5) == [4, 1, 2, 0, 3]
    assert _places(values, 4) == [4, 1, 2, 0]
    assert classified("y", values, 1).tolist() == [b"inf:4"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 3, 50, 100])
def test_it_sorts_as_a_whole_sort_does(dtype, count):
    rng = np.random.default_rng(7)
    values = rng.integers(0, 100, 50).astype(dtype)
    expected = sorted(range(50), key=lambda index: (-int(values[index]), index))
    assert _places(values, count) == expected[:count]


def test_empty_and_scalar_outputs():
    assert classified("y", np.empty((0, 3), np.float32), 2).shape == (0,)
    assert classified("y", np.array(2, np.int32), 2).tolist() == [b"2:0"]


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, ml_dtypes.bfloat16, object])
def test_some_types_have_no_classes(dtype):
    with pytest.raises(InputError, match="output 'y': class result not available"):
        classified("y", np.zeros(3, dtype), 1)


def test_classes_have_labels_and_rows_of_a_batch_are_classified_each_by_itself():
    rows = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.1]], np.float32)
    found = classified("y", rows, 2, Classes(("cat", "", "owl"), has_batch=True))
    assert found.tolist() == [
        [b"0.900000:1", b"0.500000:2:owl"],
        [b"0.700000:0:cat", b"0.200000:1"],
    ]
    whole = classified("y", rows, 1, Classes(("cat",)))
    assert whole.tolist() == [b"0.900000:1"]
    assert classified("y", rows[:0], 2, Classes(has_batch=True)).shape == (0, 0)
