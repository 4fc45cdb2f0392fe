"""Outputs as their largest values with their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.serving.conformance.case import NOT_ASKED, Cases
from tests.serving.conformance.clients import STREAM, Client, Wanted, given, status

cases = Cases("classification", streamed=True)


def _classes(datatype: str, values: list[Any], count: int, kind: Any = None) -> Any:
    def ask(client: Client) -> Any:
        sent = given("x", datatype, np.array(values, kind or datatype.lower()))
        return client.answer(f"identity_{datatype}", [sent], [Wanted("y", classes=count)])

    return ask


def _answer(*texts: bytes) -> Any:
    return {"y": ("BYTES", [len(texts)], list(texts))}


cases.add(
    "the largest of FP32",
    _classes("FP32", [1.1, 3.3, 0.5, 2.4], 2, np.float32),
    _answer(b"3.300000:1", b"2.400000:3"),
)
cases.add(
    "the largest of FP64",
    _classes("FP64", [-1e-9, 12345.678, 0.0], 3, np.float64),
    _answer(b"12345.678000:1", b"0.000000:2", b"-0.000000:0"),
)
cases.add(
    "more than there are",
    _classes("FP32", [1, 2], 10, np.float32),
    _answer(b"2.000000:1", b"1.000000:0"),
)
for _bits in (8, 16, 32, 64):
    cases.add(
        f"the largest of INT{_bits}",
        _classes(
            f"INT{_bits}", [-(2 ** (_bits - 1)), 7, -1, 2 ** (_bits - 1) - 1], 3, f"int{_bits}"
        ),
        _answer(f"{2 ** (_bits - 1) - 1}:3".encode(), b"7:1", b"-1:2"),
    )
    cases.add(
        f"the largest of UINT{_bits}",
        _classes(f"UINT{_bits}", [0, 2**_bits - 1, 3], 2, f"uint{_bits}"),
        _answer(f"{2**_bits - 1}:1".encode(), b"3:2"),
    )


@cases({"sum": ("BYTES", [2], [b"8.000000:7", b"7.000000:6"])})
def a_matrix_is_taken_as_a_whole(client: Client) -> Any:
    a = np.arange(8, dtype=np.float32).reshape(2, 4)
    inputs = [given("a", "FP32", a), given("b", "FP32", np.ones_like(a))]
    return client.answer("arithmetic", inputs, [Wanted("sum", classes=2)])


def _refused(datatype: str, array: np.ndarray) -> Any:
    sent = [given("x", datatype, array)]
    wanted = [Wanted("y", classes=1)]
    return lambda client: status(client.infer, f"identity_{datatype}", sent, wanted)


cases.add(
    "BOOL has no order",
    _refused("BOOL", np.array([True, False])),
    "INVALID_ARGUMENT",
    (STREAM,),
)
cases.add(
    "BYTES have no order",
    _refused("BYTES", np.array([b"a"], object)),
    "INVALID_ARGUMENT",
    (STREAM,),
    NOT_ASKED,
)
