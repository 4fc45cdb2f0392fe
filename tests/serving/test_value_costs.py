"""No value takes more than it was said to take."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from surplus.engine.serving.codec import decode_raw, encode_raw
from surplus.engine.serving.http_infer import decode_request
from surplus.engine.serving.json_document import JsonAnswer
from surplus.engine.serving.shared_memory import SharedRegions
from surplus.engine.serving.value_costs import (
    answer_bytes,
    document_bytes,
    strings_bytes,
)

COUNT = 20_000


def _most_bytes(make: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        held = make()
        assert held is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


VALUES = {
    "lists": "[]",
    "nests": "[[]]",
    "objects": "{}",
    "members": '{"a":{}}',
    "texts": '""',
    "words": '"ab"',
    "wide texts": '"\u00e9\u0444"',
    "escapes": '"\\u0444\\u0444"',
    "digits": "1",
    "numbers": "1.5",
    "large numbers": "123456789012345678901234567890",
    "nulls": "null",
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_documents(value: str) -> None:
    text = f"[{','.join([value] * COUNT)}]".encode()
    assert _most_bytes(lambda: json.loads(text)) <= document_bytes(text)
    assert document_bytes(memoryview(text)) == document_bytes(text)


@pytest.mark.parametrize("datatype", ["FP32", "FP64", "INT64", "UINT64", "BYTES", "BOOL"])
def test_requests_in_json(datatype: str) -> None:
    value = {"BYTES": '"ab"', "BOOL": "true"}.get(datatype, "12")
    data = f"[{','.join([value] * COUNT)}]"
    tensor = f'{{"name":"x","datatype":"{datatype}","shape":[{COUNT}],"data":{data}}}'
    text = f'{{"inputs":[{tensor}]}}'.encode()
    assert _most_bytes(lambda: decode_request(text, None, 0, SharedRegions())) <= document_bytes(
        text
    )


def test_small_documents_count_by_their_length() -> None:
    for value in VALUES.values():
        text = f"[{','.join([value] * 50)}]".encode()
        assert _most_bytes(lambda text=text: json.loads(text)) <= document_bytes(text)


@pytest.mark.parametrize("length", [0, 1, 2, 40])
def test_strings(length: int) -> None:
    raw = (length.to_bytes(4, "little") + b"x" * length) * COUNT
    most = _most_bytes(lambda: decode_raw("x", "BYTES", [COUNT], raw))
    assert most <= strings_bytes(COUNT, COUNT * length)


@pytest.mark.parametrize("text", ["", "ab"])
def test_answers_of_strings(text: str) -> None:
    array = np.array([text] * COUNT, np.object_)
    assert _most_bytes(lambda: encode_raw(array)) <= answer_bytes(array, as_text=False)


@pytest.mark.parametrize("value", [0.0, -1.2345678901234567e-300, 7, False])
def test_answers_in_json(value: float) -> None:
    array = np.full(COUNT, value)

    def make() -> bytes:
        answer = JsonAnswer()
        return answer.encoded({"outputs": [{"data": answer.data("y", array)}]})

    assert _most_bytes(make) <= answer_bytes(array, as_text=True)


def test_a_share_is_asked_before_anything_is_made() -> None:
    from surplus.engine import _core
    from surplus.engine.errors import MemoryLimitError
    from surplus.engine.serving.memory_share import MemoryShare
    from surplus.engine.serving.wire import split_infer_request

    share = MemoryShare(_core.MemoryAccount(1 << 20))
    message = service_pb2.ModelInferRequest(model_name="m")
    message.inputs.add(name="x").contents.int64_contents.extend(range(100_000))
    calls: list[Callable[[], Any]] = [
        lambda: decode_raw("x", "BYTES", [COUNT], bytes(4 * COUNT), share),
        lambda: decode_request(b"[" * (1 << 18), None, 0, SharedRegions(), share),
        lambda: split_infer_request(message.SerializeToString(), share),
    ]
    for call in calls:
        with pytest.raises(MemoryLimitError):
            call()
