"""What a query may give instead of arrays: types are kept, what would lose values is refused."""

from __future__ import annotations

import array
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pandas
import pytest

from surplus.engine.errors import InputError
from surplus.engine.runtime.array_like import as_array, has_type, survives
from surplus.engine.runtime.model import Model
from tests.runtime.runtime_models import model_of, read_text

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Table:
    """Has ``__array__`` alone, as a table or a tensor of another library has."""

    def __init__(self, content: np.ndarray[Any, Any], error: Exception | None = None) -> None:
        self._content, self._error = content, error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self._error is not None:
            raise self._error
        return self._content


class Capsules:
    """Has DLPack's methods alone."""

    def __init__(self, content: np.ndarray[Any, Any]) -> None:
        self._content = content

    def __dlpack__(self, **options: Any) -> Any:
        return self._content.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._content.__dlpack_device__()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    text = "floats (float[n, 3] x) => (float[n, 3] y) { y = Neg(x) }"
    return model_of(read_text(text, tmp_path_factory.mktemp("floats")))


@pytest.mark.parametrize(
    "given",
    [
        Table(X),
        Capsules(X.copy()),
        memoryview(X),
        pandas.DataFrame(X),
        [array.array("f", row) for row in X.tolist()],
        [X[0], X[1]],
        [[0, 1, 2], (3.0, 4, 5)],
        [[False, True, 2], [3, 4, 5]],
    ],
)
def test_what_fits_is_taken(model: Model, given: Any) -> None:
    for answer in (model.run({"x": given}), model.submit({"x": given}).result()):
        assert answer["y"].tolist() == (-X).tolist()


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (Table(X.astype(np.float64)), "float64"),
        (Table(X.astype(np.int64)), "int64"),
        (Capsules(X.astype(np.float64)), "float64"),
        (pandas.DataFrame(X.astype(np.float64)), "float64"),
        (pandas.DataFrame(X.astype(np.int64)), "int64"),
        (memoryview(X.astype(np.float64)), "float64"),
        ([X.astype(np.float64)[0], X[1]], "float64"),
        ([[np.float64(1), 2, 3]], "float64"),
        ([array.array("d", [1, 2, 3])], "float64"),
        (X.astype(object), "ndarray"),
        ([[1e300, 0, 0]], "numbers that it cannot hold"),
        ([[2**53 + 1, 0, 0]], "numbers that it cannot hold"),
        ([[2**24 + 1, 0, 0]], "numbers that it cannot hold"),
        ([[1j, 0, 0]], "numbers that it cannot hold"),
        ([[2**70, 0, 0]], "list"),
        (object(), "object"),
    ],
)
def test_another_type_is_refused_whatever_brings_it(model: Model, given: Any, got: str) -> None:
    for ask in (model.run, model.submit):
        with pytest.raises(InputError, match=f"^input 'x': expected float32, got {got}$"):
            ask({"x": given})


@pytest.mark.parametrize("error", [TypeError("no"), RuntimeError("no"), BufferError("no")])
def test_what_a_library_refuses_is_told_in_its_words(model: Model, error: Exception) -> None:
    with pytest.raises(InputError, match=r"^input 'x': no$"):
        model.run({"x": Table(X, error)})


def test_a_type_that_numpy_lacks_comes_by_dlpack(tmp_path: Path) -> None:
    class Tensor(Table):
        """As torch's of bfloat16."""

        def __dlpack__(self, **_: Any) -> Any:
            from surplus.engine.dlpack import capsule_of

            return capsule_of(self._content)

    given = Tensor(np.array([1, -2], ml_dtypes.bfloat16), TypeError("unsupported ScalarType"))
    model = model_of(
        read_text("b (bfloat16[n] x) => (bfloat16[n] y) { y = Identity(x) }", tmp_path)
    )
    assert model.run({"x": given})["y"].astype(np.float32).tolist() == [1, -2]
    assert as_array(given).dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("values", "wanted", "is_kept"),
    [
        ([0.1, np.inf, np.nan], "float16", True),
        ([70000.0], "float16", False),
        ([1e39], "bfloat16", False),
        ([0.1], "bfloat16", True),
        ([500.0], "float8_e4m3fn", False),
        ([7, -8], "int4", True),
        ([8], "int4", False),
        ([1.0], "int4", False),
        ([1.0], "bool", False),
        ([0, 1], "bool", True),
        ([2], "bool", False),
        ([True], "float32", True),
        ([2**63 - 1], "int64", True),
        ([2**63 - 1], "float64", False),
        ([], "uint8", True),
        (["text"], "float32", False),
    ],
)
def test_numbers_survive_or_not(values: list[Any], wanted: str, is_kept: bool) -> None:
    kind = np.dtype(getattr(ml_dtypes, wanted, wanted))
    assert survives(np.asarray(values), kind) is is_kept


def test_what_has_a_type() -> None:
    assert not has_type([[1, 2.0], (True, 1j), "text", b"bytes"])
    assert has_type([[1, np.int8(2)]])
    assert has_type(np.float64(1))  # which is one of Python's floats, too
    assert has_type(pandas.Series([1]))
