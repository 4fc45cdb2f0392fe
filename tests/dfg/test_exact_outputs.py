"""What a piece of a quantised graph delivers is what the whole graph has at that place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from surplus.engine.dfg.exact_outputs import deliver_apart
from surplus.engine.dfg.extract import extract
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value

X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)

QUANTISED = """<ir_version: 9, opset_import: ["" : 18]>
cut (float[2,3] x) => (%s)
<float w = {2.5}, float s = {0.1}, uint8 z = {10}>
{ m = Mul(x, w)
  t = Tanh(m)
  u = %s
  q = QuantizeLinear(u, s, z)
  d = DequantizeLinear(q, s, z)
  e = Exp(d)
  n = Neg(t)
  f = Exp(n)
}"""
MOVES = ("Transpose<perm=[1,0]>(t)", "Unsqueeze(t, z64)", "Reshape(t, z64)")
LEVELS = ("basic", "extended", "all")


def _model(outputs: str, move: str) -> onnx.ModelProto:
    text = QUANTISED % (outputs, move)
    return onnx.parser.parse_model(text.replace("<float w", "<int64[1] z64 = {-1}, float w"))


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("level", LEVELS)
def test_a_piece_delivers_what_the_whole_has_there(tmp_path: Path, move: str, level: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(_model("float[M,N] e, float[2,3] f", move).SerializeToString())
    graph = read(path, tmp_path / "cache")
    names = [task.node.output[0] for task in graph.tasks]
    tasks = [i for i, name in enumerate(names) if name not in ("n", "f", "e")]
    piece = extract(graph, tasks)
    session = open_session(piece.SerializeToString(), level=level, weights_folder=graph.folder)
    found = dict(zip(session.output_names, session.run({"x": to_value(X)}), strict=True))
    np.testing.assert_allclose(from_value(found["t"]), np.tanh(X * np.float32(2.5)), atol=1e-6)


def test_outputs_of_the_model_are_not_quantised_either(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(_model("float[2,3] t, float[M,N] e", MOVES[0]).SerializeToString())
    graph = read(path, tmp_path / "cache")
    found = open_session(str(graph.model_path)).run({"x": to_value(X)}, ["t"])
    np.testing.assert_allclose(from_value(found[0]), np.tanh(X * np.float32(2.5)), atol=1e-6)


def test_nothing_changes_without_quantisers_or_readers_within() -> None:
    plain = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 18]> g (float[2] x) => (float[2] a, float[2] b)'
        " { a = Neg(x) b = Neg(a) }"
    )
    assert not deliver_apart(plain.graph)
    assert not deliver_apart(_model("float[M,N] e", MOVES[0]).graph)


def test_bodies_read_what_is_delivered() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 18]>
        g (float[2] x, bool c) => (float[2] t, float[2] d, float[2] y)
        <float s = {0.1}, uint8 z = {10}>
        { t = Tanh(x)
          t_read = Neg(t)
          q = QuantizeLinear(t_read, s, z)
          d = DequantizeLinear(q, s, z)
          y = If(c) <then_branch = a () => (float[2] p) { p = Neg(t) },
                     else_branch = b () => (float[2] r) { r = Abs(t) }>
        }"""
    )
    assert deliver_apart(model.graph)
    session = open_session(model.SerializeToString())
    x, c = np.array([1, -2], np.float32), np.array(False)
    t, _, y = (from_value(v) for v in session.run({"x": to_value(x), "c": to_value(c)}))
    np.testing.assert_allclose(t, np.tanh(x), rtol=1e-6)
    np.testing.assert_allclose(y, np.abs(np.tanh(x)), rtol=1e-6)
