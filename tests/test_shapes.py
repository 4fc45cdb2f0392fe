"""Shapes are bounded before arithmetic, at every way in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import pytest

from surplus.engine import shapes
from surplus.engine.errors import InputError
from surplus.engine.serving.codec import decode_raw, decode_typed
from surplus.engine.serving.http_infer import decode_request
from surplus.engine.serving.messages import message_type
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.shapes import MAX_RANK, element_count

BOMB = [2**62] * 80_000
"""720 kB as a request; its product takes seconds."""

Contents = message_type("InferTensorContents")


def _over_http(shape: Sequence[int], **tensor: object) -> None:
    row = {"name": "x", "datatype": "FP32", "shape": list(shape), **tensor}
    decode_request(json.dumps({"inputs": [row]}).encode(), None, 0, SharedRegions(0))


WAYS: dict[str, Callable[[Sequence[int]], object]] = {
    "raw": lambda shape: decode_raw("x", "FP32", shape, b""),
    "typed": lambda shape: decode_typed("x", "FP32", shape, Contents()),
    "strings": lambda shape: decode_raw("x", "BYTES", shape, b""),
    "JSON": lambda shape: _over_http(shape, data=[]),
    "HTTP, bytes": lambda shape: _over_http(shape, parameters={"binary_data_size": 0}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [2**62, 1, 0, -1])
def test_no_arithmetic_on_a_shape_of_high_rank(
    way: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = []

    def product(sizes: Sequence[int]) -> int:
        ranks.append(len(sizes))
        return math.prod(sizes)

    monkeypatch.setattr(shapes, "math", type("counting", (), {"prod": staticmethod(product)}))
    with pytest.raises(InputError, match=r"^input 'x': shape of rank 80000, at most 32"):
        WAYS[way]([size] * len(BOMB))
    assert not ranks
    with pytest.raises(InputError):
        WAYS[way]([2**62] * MAX_RANK)
    assert ranks == [MAX_RANK]


def test_count() -> None:
    assert element_count("x", []) == 1
    assert element_count("x", [2, 0, 3]) == 0
    assert element_count("x", [1] * MAX_RANK) == 1
