"""What a library may run: what its table holds, no whole numbers, nothing that gets lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

from surplus.engine.dfg import library_support
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.library_support import may_run
from surplus.engine.kernels.conformance.table import ConformanceTable
from surplus.engine.planning.stages import read_model

_ALL = ["finite", "made", "special", "sizes"]


class _Generous(ConformanceTable):
    """Holds everything but what ``operators`` says otherwise, whatever the types."""

    def holds(self, operator: str, types: str, kind: str) -> bool:
        return kind in self.operators.get(operator, {}).get("", _ALL)


def _with_table(monkeypatch: pytest.MonkeyPatch, **but: list[str]) -> None:
    operators: Mapping[str, Mapping[str, list[str]]] = {
        name: {"": held} for name, held in but.items()
    }
    table = _Generous("openvino", "1", "here", operators)
    monkeypatch.setattr(library_support, "table_of", lambda _: table)


def _graph(tmp_path: Path, text: str) -> Graph:
    """Of a body such as ``(float[4] x) => (float[4] y) { y = Relu(x) }``."""
    full = f'<ir_version: 10, opset_import: ["" : 17]>\ngraph {text}'
    path = tmp_path / "graph.onnx"
    path.write_bytes(onnx.parser.parse_model(full).SerializeToString())
    return read_model(path, tmp_path / "cache")


def _may(graph: Graph) -> bool:
    return may_run(graph, "openvino", range(len(graph.tasks)))


def test_nothing_runs_without_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_support, "table_of", lambda _: None)
    assert not _may(_graph(tmp_path, "(float[4] x) => (float[4] y) { y = Relu(x) }"))


@pytest.mark.parametrize(
    ("held", "may"), [(["finite"], True), (["made", "special", "sizes"], False), ([], False)]
)
def test_an_operator_that_was_seen_to_hold_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: list[str], may: bool
) -> None:
    _with_table(monkeypatch, Relu=held)
    assert _may(_graph(tmp_path, "(float[4] x) => (float[4] y) { y = Relu(x) }")) is may


def test_sizes_that_a_query_says_are_asked_for_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_table(monkeypatch, Tile=["finite"])
    fixed = "(float[2] x) => (float[n] y) <int64[1] r = {3}> { z = Relu(x) y = Tile(z, r) }"
    assert _may(_graph(tmp_path, fixed))
    asked = "(float[2] x, int64[1] r) => (float[n] y) { y = Tile(x, r) }"
    assert not _may(_graph(tmp_path, asked))
    default = "(float[2] x, int64[1] r) => (float[n] y) <int64[1] r = {3}> { y = Tile(x, r) }"
    assert not _may(_graph(tmp_path, default))
    _with_table(monkeypatch)
    assert _may(_graph(tmp_path, asked))


@pytest.mark.parametrize(
    ("body", "may"),
    [
        ("(int64[4] a, int64[4] b) => (int64[4] y) { y = Add(a, b) }", False),
        ("(int32[4] a, int32[4] b) => (bool[4] y) { y = Equal(a, b) }", False),
        ("(uint8[4] a, uint8[4] b) => (uint8[4] y) { y = Mul(a, b) }", False),
        ("(int64[4] a) => (int64[] y) { y = ReduceSum<keepdims=0>(a) }", False),
        ("(int64[4] a) => (int64[4] y) <int64 p = {9}> { y = Mod(a, p) }", False),
        ("(int64[4] a) => (float[4] y) { y = Cast<to=1>(a) }", False),
        ("(int64[4] a) => (int32[4] y) { y = Cast<to=6>(a) }", False),
        ("(uint8[4] a) => (float[4] y) { y = Cast<to=1>(a) }", True),
        ("(int8[4] a) => (float[4] y) { y = Cast<to=1>(a) }", True),
        ("(bool[4] a) => (float[4] y) { y = Cast<to=1>(a) }", True),
        ("(float[4] x) => (int64[1] y) { y = ArgMax(x) }", True),
        ("(float[9,2] t) => (float[2,2] y) <int64[2] i = {8, 0}> { y = Gather(t, i) }", True),
        ("(int64[4] a) => (int64[2,2] y) <int64[2] s = {2, 2}> { y = Reshape(a, s) }", True),
        ("(int64[4] a) => (int64[4] y) <int64[1] k = {5}> { z = Concat<axis=0>(a, k) "
         "y = Identity(z) }", True),
        ("(int64[4] a) => (int64[5] y) <int64[1] k = {4294967296}> { y = Concat<axis=0>(a, k) }",
         False),
        ("(float[4] x, float[1] u) => (float[4] y) <int64[1,1] i = {3}> "
         "{ y = ScatterND(x, i, u) }", True),
        ("(int64[4] x, int64[4,1] i, int64[4] u) => (int64[4] y) "
         "{ y = ScatterND<reduction=\"add\">(x, i, u) }", False),
        ("(float[4] x) => (float[4] y) <float s = {0.1}, uint8 z = {3}> "
         "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }", True),
        ("(double[4] x) => (double[4] y) { y = Neg(x) }", False),
    ],
)  # fmt: skip
def test_whole_numbers_are_moved_and_not_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, may: bool
) -> None:
    """However generous the table is."""
    _with_table(monkeypatch)
    assert _may(_graph(tmp_path, body)) is may


@pytest.mark.parametrize(
    "body",
    [
        "(float[9,2] t, int64[4] i) => (float[4,2] y) { y = Gather(t, i) }",
        "(float[9,2] t, int64[4,1] i) => (float[4,2] y) { y = GatherND(t, i) }",
        "(float[4] x, int64[4,1] i, float[4] u) => (float[4] y) { y = ScatterND(x, i, u) }",
        "(float[4,2] x, int64[4] n) => (float[4,2] y) { y = ReverseSequence(x, n) }",
    ],
)
def test_places_that_a_query_says_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """However generous the table is: libraries do not say that one is out of range."""
    _with_table(monkeypatch)
    assert not _may(_graph(tmp_path, body))


_LOSES = {"Relu": ["finite"]}


@pytest.mark.parametrize(
    ("body", "may"),
    [
        ("{ a = Log(x) y = Relu(a) }", False),
        ("{ a = Sqrt(x) y = Relu(a) }", False),
        ("{ a = Reciprocal(x) y = Relu(a) }", False),
        ("{ a = Div(x, x) b = Neg(a) y = Relu(b) }", False),
        ("<float k = {0.5}> { a = Pow(x, k) y = Relu(a) }", False),
        ("<float k = {-1}> { a = Pow(x, k) y = Relu(a) }", False),
        ("<float k = {0}> { a = Div(x, k) y = Relu(a) }", False),
        ("<float k = {3}> { a = Pow(x, k) y = Relu(a) }", True),
        ("<float k = {2}> { a = Div(x, k) y = Relu(a) }", True),
        ("{ a = Relu(x) y = Log(a) }", True),  # nobody after it
        ("{ a = Relu(x) b = Sqrt(a) y = Relu(b) }", True),
        ("<float k = {2}, float e = {0.001}> { a = Pow(x, k) m = ReduceMean<axes=[1]>(a) "
         "v = Add(m, e) s = Sqrt(v) d = Div(x, s) y = Relu(d) }", True),
        ("<float k = {2}> { a = Pow(x, k) m = ReduceMean<axes=[1]>(a) s = Sqrt(m) d = Div(x, s) "
         "y = Relu(d) }", False),
        ("<int64[1] ax = {1}> { m = ReduceMax<axes=[1]>(x) c = Sub(x, m) e = Exp(c) "
         "t = ReduceSum<keepdims=1>(e, ax) p = Div(e, t) y = Relu(p) }", True),
        ("<int64[1] ax = {1}> { e = Exp(x) t = ReduceSum<keepdims=1>(e, ax) p = Div(e, t) "
         "y = Relu(p) }", False),
        ("<float e = {1}> { a = Abs(x) b = Add(a, e) l = Log(b) y = Relu(l) }", True),
        ("{ a = Sigmoid(x) l = Log(a) y = Relu(l) }", False),
        ("{ n = LpNormalization(x) y = Relu(n) }", False),
    ],
)  # fmt: skip
def test_what_is_not_finite_is_not_made_before_what_loses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, may: bool
) -> None:
    _with_table(monkeypatch, **_LOSES)
    graph = _graph(tmp_path, f"(float[2,4] x) => (float[2,4] y) {body}")
    assert _may(graph) is may


def test_a_constant_that_is_not_finite_counts_as_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 17]>'
        "graph (bool[4] m, float[4] x) => (float[4] y) { a = Where(m, x, k) y = Softmax(a) }"
    )
    lowest = np.array(-np.inf, np.float32)
    for number, may in ((lowest, False), (np.array(-1e4, np.float32), True)):
        del model.graph.initializer[:]
        model.graph.initializer.append(onnx.numpy_helper.from_array(number, "k"))
        path = tmp_path / "masked.onnx"
        path.write_bytes(model.SerializeToString())
        _with_table(monkeypatch, Softmax=["finite"])
        assert _may(read_model(path, tmp_path / "cache")) is may


def test_what_makes_numbers_wrongly_does_not_make_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = _graph(tmp_path, "(float[4] x) => (float[4] y) { y = Log(x) }")
    _with_table(monkeypatch, Log=["finite"])
    assert not _may(graph)
    _with_table(monkeypatch, Log=["finite", "made"])
    assert _may(graph)
