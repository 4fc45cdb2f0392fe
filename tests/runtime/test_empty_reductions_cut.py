"""Empty tensors through reductions, in plans that end segments right behind them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.runtime_models import model_of, read_text

REDUCTIONS = {
    "mean": "m = ReduceMean <keepdims = 0> (x, last)",
    "sum": "m = ReduceSum <keepdims = 0> (x, last)",
    "largest": "m = ReduceMax <keepdims = 0> (x, last)",
    "kept": "m = ReduceMean <keepdims = 1> (x, last)",
    "twice": "p = ReduceMax <keepdims = 0> (x, last)  m = ReduceSum <keepdims = 0> (p, last)",
    "argument": "p = ArgMax <axis = -1, keepdims = 0> (x)  m = Cast <to = 1> (p)",
    "over all": "m = ReduceSum <keepdims = 0> (x)",
    "over the empty one": (
        "p = ReduceSum <keepdims = 0> (x, last)  m = ReduceMax <keepdims = 0> (p, first)"
    ),
}

TAIL = "a = Neg(m)  b = Exp(a)  c = Abs(a)  y = Concat <axis = -1> (b, c, a)  s = Shape(b)"
SCALAR_TAIL = "a = Neg(m)  b = Exp(a)  y = Abs(b)  s = Shape(b)"


def _text(reduction: str, tail: str) -> str:
    constants = "last = Constant <value_ints = [-1]> ()  first = Constant <value_ints = [0]> ()"
    return f"g (float[n, 2, 3] x) => (y, int64[r] s) {{ {constants} {reduction} {tail} }}"


@pytest.mark.parametrize("name", REDUCTIONS)
def test_cut_plans_answer_as_the_whole_model_does(name: str, tmp_path: Path) -> None:
    tail = SCALAR_TAIL if name == "over all" else TAIL
    graph = read_text(_text(REDUCTIONS[name], tail), tmp_path)
    cut, whole = model_of(graph), model_of(graph, whole=True)
    assert len(cut.plan.segments) > 3
    for count in (0, 2, 0, 1):
        query = {"x": np.arange(count * 6, dtype=np.float32).reshape(count, 2, 3)}
        ours, right = cut.run(query), whole.run(query)
        assert {n: a.shape for n, a in ours.items()} == {n: a.shape for n, a in right.items()}
        assert {n: a.tobytes() for n, a in ours.items()} == {
            n: a.tobytes() for n, a in right.items()
        }
