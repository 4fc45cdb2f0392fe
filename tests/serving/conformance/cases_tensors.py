"""Tensors of every datatype and shape, there and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from surplus.engine.serving.datatypes import DATATYPES
from tests.serving.conformance.case import Cases
from tests.serving.conformance.clients import Client, Wanted, given

cases = Cases("tensors", streamed=True)

_JSON = ("http_json",)


def _round_trip(datatype: str, values: list[Any], model: str = "") -> Any:
    def ask(client: Client) -> Any:
        sent = given("x", datatype, np.array(values, DATATYPES[datatype].dtype))
        return client.answer(model or f"identity_{datatype}", [sent])

    return ask


_EXTREMES = {
    "BOOL": [False, True],
    "FP16": [0.0, -1.5, 65504.0],
    "BF16": [0.0, -1.5, 2.0**100],
    "FP32": [0.0, -1.5, float(np.finfo(np.float32).max)],
    "FP64": [0.0, -1.5, 1e300],
    "BYTES": [b"", b"abc", "größe".encode()],
}
for _datatype, _kind in DATATYPES.items():
    if _datatype not in _EXTREMES:
        _bounds = np.iinfo(_kind.dtype)
        _EXTREMES[_datatype] = [int(_bounds.min), 1, int(_bounds.max)]
    _values = _EXTREMES[_datatype]
    cases.add(
        f"extremes of {_datatype}",
        _round_trip(_datatype, _values),
        {"y": (_datatype, [len(_values)], _values)},
        _JSON if _datatype in ("FP16", "BF16") else (),
    )
    cases.add(
        f"empty {_datatype}",
        _round_trip(_datatype, []),
        {"y": (_datatype, [0], [])},
        _JSON,  # Triton's client leaves an empty list out
    )

cases.add(
    "bytes that are no text",
    _round_trip("BYTES", [b"\0\xff", b"\x80"]),
    {"y": ("BYTES", [2], [b"\0\xff", b"\x80"])},
    _JSON,
)


def _matrices() -> list[Any]:
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    return [given("a", "FP32", a), given("b", "FP32", np.ones_like(a))]


@cases(
    {
        "sum": ("FP32", [2, 4], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]),
        "difference": ("FP32", [2, 4], [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
    }
)
def all_outputs(client: Client) -> Any:
    return client.answer("arithmetic", _matrices())


@cases({"difference": ("FP32", [2, 4], [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])})
def one_output(client: Client) -> Any:
    return client.answer("arithmetic", _matrices(), [Wanted("difference")])


@cases({"sum": ("FP32", [0, 4], []), "difference": ("FP32", [0, 4], [])}, _JSON)
def a_matrix_without_rows(client: Client) -> Any:
    empty = np.empty((0, 4), np.float32)
    return client.answer("arithmetic", [given("a", "FP32", empty), given("b", "FP32", empty)])


@cases(True)
def half_a_megabyte(client: Client) -> Any:
    values = np.arange(1 << 17, dtype=np.float32)
    answer = client.answer("identity_FP32", [given("x", "FP32", values)])
    return answer["y"] == ("FP32", [1 << 17], values.tolist())


@cases({"y": ("BYTES", [1], [b"x" * 100_000])})
def a_long_string(client: Client) -> Any:
    sent = np.array([b"x" * 100_000], object)
    return client.answer("identity_BYTES", [given("x", "BYTES", sent)])


@cases(("q-7", "arithmetic", "1"))
def id_name_and_version_come_back(client: Client) -> Any:
    result = client.infer("arithmetic", _matrices(), request_id="q-7", model_version="1")
    response = result.get_response()
    if client.is_http:
        return response["id"], response["model_name"], response["model_version"]
    return response.id, response.model_name, response.model_version


@cases("OK")
def parameters_of_a_users_own(client: Client) -> Any:
    client.infer("arithmetic", _matrices(), parameters={"mine": "text", "count": 3, "yes": True})
    return "OK"


@cases("OK")
def priority_and_timeout(client: Client) -> Any:
    client.infer("arithmetic", _matrices(), priority=1, timeout=60_000_000)
    return "OK"
