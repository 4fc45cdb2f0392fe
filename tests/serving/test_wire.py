import numpy as np
import pytest
from google.protobuf.message import DecodeError

from surplus.engine.serving.messages import message_type
from surplus.engine.serving.wire import join_infer_response, split_infer_request

Request = message_type("ModelInferRequest")
Response = message_type("ModelInferResponse")


def _request(raw):
    request = Request(model_name="m", id="7", raw_input_contents=raw)
    for index in range(len(raw)):
        request.inputs.add(name=f"x{index}", datatype="UINT8", shape=[len(raw[index])])
    request.outputs.add(name="y")
    request.parameters["timeout"].int64_param = 5
    return request


@pytest.mark.parametrize("sizes", [[], [0], [3], [40_000], [0, 40_000, 1, 300_000, 0]])
def test_split_is_what_protobuf_parses(sizes):
    raw = [bytes([index]) * size for index, size in enumerate(sizes)]
    request, raw_inputs = split_infer_request(_request(raw).SerializeToString())
    assert [bytes(part) for part in raw_inputs] == raw
    request.ClearField("raw_input_contents")
    expected = _request(raw)
    expected.ClearField("raw_input_contents")
    assert request == expected


def test_large_inputs_are_views_of_the_request():
    data = _request([bytes(100_000)]).SerializeToString()
    _, (raw,) = split_infer_request(data)
    assert np.shares_memory(np.frombuffer(raw, np.uint8), np.frombuffer(data, np.uint8))


def test_fields_in_any_order_and_unknown_fields():
    large = Request(raw_input_contents=[bytes(50_000)]).SerializeToString()
    unknown = bytes([19 << 3 & 127 | 128, 1, 5])  # field 19, a number
    data = large + Request(model_name="m").SerializeToString() + large
    for variant in (data, unknown + data, data + unknown):
        request, raw = split_infer_request(variant)
        assert request.model_name == "m"
        assert [len(part) for part in raw] == [50_000, 50_000]


@pytest.mark.parametrize("cut", [1, 40_000, 59_999])
def test_truncated_requests_are_malformed(cut):
    data = _request([bytes(60_000)]).SerializeToString()
    with pytest.raises(DecodeError):
        split_infer_request(data[: len(data) - cut])


@pytest.mark.parametrize("sizes", [[], [0], [1], [127, 128], [16_384, 3_000_000]])
def test_joined_response_is_what_protobuf_parses(sizes):
    arrays = [np.full(size, 7, np.uint8) for size in sizes]
    data = join_infer_response(Response(model_name="m", id="7"), arrays)
    response = Response.FromString(data)
    assert (response.model_name, response.id) == ("m", "7")
    assert list(response.raw_output_contents) == [array.tobytes() for array in arrays]
