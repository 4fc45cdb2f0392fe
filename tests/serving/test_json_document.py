"""Numbers that the core reads and writes are those that Python's json would have made."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

import numpy as np
import pytest

from surplus.engine.errors import InputError
from surplus.engine.serving.datatypes import DATATYPES
from surplus.engine.serving.http_infer import decode_request
from surplus.engine.serving.json_document import MOST_BYTES, JsonAnswer, JsonDocument
from surplus.engine.serving.json_values import decode_json
from surplus.engine.serving.shared_memory import SharedRegions

SEEDS = range(300)


def _text(data: Any) -> bytes:
    return json.dumps({"data": data, "other": [1] * 20}).encode()


def _taken(data: Any) -> Any:
    document = JsonDocument(_text(data))
    assert document.value["other"] == [1] * 20
    return document.data(document.value["data"])


def _number(random: random.Random) -> float:
    kind = random.randrange(6)
    if kind < 2:
        return random.randrange(-300, 300)
    if kind == 2:
        return random.getrandbits(random.randrange(1, 70)) * random.choice((1, -1))
    if kind == 3:
        return random.uniform(-1e3, 1e3)
    (value,) = struct.unpack("<d", random.randbytes(8))
    return value if math.isfinite(value) else 0.5


def _data(random: random.Random) -> Any:
    """A tensor, of one kind of numbers or several; now and then with something else in it."""
    count = random.randrange(1, 60)
    few = random.random() < 0.5
    numbers: list[Any] = [
        random.randrange(-200, 200) if few else _number(random) for _ in range(count)
    ]
    if random.random() < 0.1:
        numbers[random.randrange(count)] = random.choice((None, "1", True, [], [1], {}, math.nan))
    for _ in range(random.randrange(3)):
        numbers = [numbers, numbers] if random.random() < 0.8 else [numbers, numbers[:-1]]
    return numbers


def _decoded(datatype: str, data: Any, count: int) -> Any:
    try:
        array = decode_json("x", datatype, [count], data)
    except InputError:
        return "refused"
    return array.dtype, array.tobytes() if array.dtype != np.object_ else array.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_tensors_are_the_same(seed: int) -> None:
    data = _data(random.Random(seed))
    taken = _taken(data)
    plain = json.loads(json.dumps(data))
    try:
        count = np.asarray(plain, dtype=object).size
    except ValueError:
        count = 1
    for datatype in DATATYPES:
        assert _decoded(datatype, taken, count) == _decoded(datatype, plain, count), datatype


def test_most_of_them_were_taken() -> None:
    taken = [type(_taken(_data(random.Random(seed)))) is np.ndarray for seed in SEEDS]
    assert sum(taken) > len(taken) / 3
    assert not all(taken)


def test_every_double_is_read_exactly() -> None:
    random.seed(0)
    numbers = [_number(random) for _ in range(20_000)]  # type: ignore[arg-type]
    reals = [float(number) + 0.0 if abs(number) < 2**60 else 0.25 for number in numbers]
    assert np.array_equal(_taken(reals), np.array(reals))


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i1", "u8", "u2", "?"])
def test_answers_are_read_as_they_were(dtype: str) -> None:
    raw = np.random.default_rng(0).bytes(8 * 999)
    array = np.frombuffer(raw, "u1") > 99 if dtype == "?" else np.frombuffer(raw, dtype)
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
    answer = JsonAnswer()
    rows = [{"data": answer.data("y", part)} for part in (array, array[:1], array[:0])]
    written = json.loads(answer.encoded({"outputs": rows}))["outputs"]
    assert [row["data"] for row in written] == [array.tolist(), array[:1].tolist(), []]
    assert {type(value) for value in written[0]["data"]} == {type(array.tolist()[0])}


def test_numbers_that_json_lacks_are_refused() -> None:
    with pytest.raises(InputError, match="'y': JSON has no infinity"):
        JsonAnswer().data("y", np.array([1, np.inf], np.float32))


def test_large_documents_are_refused_but_for_their_numbers() -> None:
    texts = ["ab"] * (MOST_BYTES // 7)
    assert len(JsonDocument(_text(texts)).value["data"]) == len(texts)
    with pytest.raises(InputError, match=f"at most {MOST_BYTES} .* binary"):
        JsonDocument(_text([*texts, "a" * MOST_BYTES]))
    assert len(_taken([0.5] * MOST_BYTES)) == MOST_BYTES


@pytest.mark.parametrize("text", ["", "{", "nothing", '{"data":[1,', "\ud800", "[" * 100_000])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(InputError, match="not JSON"):
        JsonDocument(text.encode(errors="surrogatepass"))


def test_numbers_stand_in_no_other_place() -> None:
    """A client cannot name an array of another input, since it does not know how."""
    tensor = {"name": "x", "datatype": "FP32", "shape": [20], "data": [1.5] * 20}
    shape = {**tensor, "shape": [1] * 40}
    with pytest.raises(InputError, match="rank 40"):
        decode_request(json.dumps({"inputs": [shape]}).encode(), None, 0, SharedRegions())
    with pytest.raises(InputError, match="must be a list"):
        decode_request(
            json.dumps({"inputs": [{**tensor, "data": ":0"}]}).encode(), None, 0, SharedRegions()
        )
