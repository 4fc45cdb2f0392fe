"""Integers divided by anything: an answer or an error, never the end of the process."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

SHAPES = [(), (1,), (7,), (1000,), (3, 7)]


def _divided(kind: str, a: Any, b: Any, operator: str = "Div", **attributes: int) -> Any:
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    value = helper.make_tensor_value_info
    inputs = [value(name, elem_type, None) for name in "ab"]
    node = helper.make_node(operator, ["a", "b"], ["y"], **attributes)
    graph = helper.make_graph([node], "g", inputs, [value("y", elem_type, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(model.SerializeToString())
    return from_value(session.run({"a": to_value(a), "b": to_value(b)})[0])


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("operator", ["Div", "Mod"])
@pytest.mark.parametrize("a_shape", SHAPES)
@pytest.mark.parametrize("b_shape", [(), (7,)])
def test_the_least_integer_by_minus_one(
    kind: str, operator: str, a_shape: tuple[int, ...], b_shape: tuple[int, ...]
) -> None:
    if a_shape == (1000,) and b_shape:
        b_shape = a_shape
    least = np.iinfo(kind).min
    answer = _divided(kind, np.full(a_shape, least, kind), np.full(b_shape, -1, kind), operator)
    assert np.all(answer == (least if operator == "Div" else 0))


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_quotients_beside_it_keep_their_bits(kind: str) -> None:
    random = np.random.default_rng(0)
    bounds = np.iinfo(kind)
    for size in (1, 9, 4096):
        a = random.integers(bounds.min, bounds.max, size, kind, endpoint=True)
        b = random.integers(bounds.min, bounds.max, size, kind, endpoint=True)
        b[b == 0] = 3
        b[::2] = random.choice(np.array([-1, 1, -2, 2, 7], kind), len(b[::2]))
        a[::5] = bounds.min
        b[::5] = -1
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        exact = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
        wrapped = [bounds.min if x > bounds.max else x for x in exact]
        assert _divided(kind, a, b).tolist() == wrapped


def test_within_a_loop() -> None:
    text = """<ir_version: 9, opset_import: ["" : 18]>
    loop (int64 n, int64[1] x, int64[1] by) => (int64[1] y) {
        go = Constant<value = bool {1}>()
        y = Loop(n, go, x)<body = step (int64 i, bool before, int64[1] old)
            => (bool after, int64[1] new) {
            after = Identity(before)
            new = Div(old, by)
        }>
    }"""
    session = open_session(onnx.parser.parse_model(text).SerializeToString())
    least = np.full(1, np.iinfo(np.int64).min)
    values = {"n": np.array(3), "x": least, "by": np.full(1, -1)}
    made = session.run({name: to_value(array) for name, array in values.items()})
    assert from_value(made[0]) == least


@pytest.mark.parametrize("operator", ["Div", "Mod"])
@pytest.mark.parametrize("kind", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_by_zero_is_an_error(operator: str, kind: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError, match="by zero"):
        _divided(kind, np.full(shape, 5, kind), np.zeros(shape, kind), operator)


FAULT = """
import ctypes, ctypes.util, mmap, sys
from surplus.engine.native import load_runtime

{before}
load_runtime()
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b80100000031d231c9f7f1c3"))  # eax = 1; edx = ecx = 0; div ecx; ret
print("dividing", flush=True)
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print("survived", flush=True)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86")
@pytest.mark.parametrize(
    ("before", "heard"), [("", ""), ("import faulthandler; faulthandler.enable()", "Floating")]
)
def test_divisions_of_others_fault_as_before(before: str, heard: str) -> None:
    text = FAULT.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "dividing\n"
    assert done.returncode == -signal.SIGFPE
    assert heard in done.stderr


EMPTY_SUMS = [
    ("bij,bjk->bik", [(2, 4, 8), (2, 8, 4)]),
    ("bid,bjd->bij", [(2, 4, 8), (2, 4, 8)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 8), (2, 3, 5, 8)]),
    ("bhij,bjhd->bihd", [(2, 3, 4, 5), (2, 5, 3, 8)]),
    ("ab,bc,cd->ad", [(2, 4), (4, 3), (3, 5)]),
    ("bij->bji", [(2, 4, 8)]),
    ("bij->i", [(2, 4, 8)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EMPTY_SUMS)
@pytest.mark.parametrize("width", [1, 2])
def test_sums_of_nothing(equation: str, shapes: list[tuple[int, ...]], width: int) -> None:
    """ONNX Runtime divides the size of a tensor by sizes of its dimensions."""
    terms = equation.split("->")[0].split(",")
    names = [f"x{number}" for number in range(len(terms))]
    value = helper.make_tensor_value_info
    inputs = [value(name, onnx.TensorProto.FLOAT, None) for name in names]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    graph = helper.make_graph([node], "g", inputs, [value("y", onnx.TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(model.SerializeToString(), width=width)
    letters = sorted(set("".join(terms)))
    choices = [itertools.combinations(letters, n) for n in range(len(letters) + 1)]
    for empty in itertools.chain(*choices):
        arrays = [
            np.ones(
                [size * (axis not in empty) for axis, size in zip(term, shape, strict=True)], "f4"
            )
            for term, shape in zip(terms, shapes, strict=True)
        ]
        feeds = {name: to_value(array) for name, array in zip(names, arrays, strict=True)}
        answer = from_value(session.run(feeds)[0])
        assert np.array_equal(answer, np.einsum(equation, *arrays)), empty
