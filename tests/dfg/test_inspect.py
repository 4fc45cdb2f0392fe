from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from surplus.engine.dfg import inspect as module
from surplus.engine.dfg.antichain import largest_antichain, levels, widest_level
from surplus.engine.dfg.inspect import inspect
from surplus.engine.dfg.onnx_reader import read
from tests.dfg.onnx_parts import value, weight

FIRST = ("Sin", "Exp", "Tan", "Erf")


@pytest.fixture
def fan(save, tmp_path: Path):
    """One task, four branches of two tasks, one task."""
    branches = [
        helper.make_node(kind, [source], [target])
        for b in range(4)
        for kind, source, target in ((FIRST[b], "r", f"a{b}"), ("Cos", f"a{b}", f"b{b}"))
    ]
    path = save(
        [
            helper.make_node("MatMul", ["x", "w"], ["r"]),
            *branches,
            helper.make_node("Concat", [f"b{b}" for b in range(4)], ["y"], axis=0),
        ],
        [value("x", ["n", 8])],
        [value("y", ["m", 8])],
        [weight("w", 8, 8)],
    )
    return read(path, tmp_path / "cache")


def test_fan(fan) -> None:
    found = inspect(fan)
    assert (found.tasks, found.edges) == (10, 12)
    assert (found.widest_level, found.antichain, found.antichain_exact) == (4, 4, True)
    assert (found.max_in_degree, found.max_out_degree) == (4, 4)
    assert found.operators == dict.fromkeys(("Cos", "MatMul", *FIRST, "Concat"), 1) | {"Cos": 4}
    assert found.parameter_bytes == 4 * 64
    assert found.activation_bytes == 0
    assert found.dynamic_tensors == found.tensors == 11
    assert found.opsets == {"ai.onnx": 17}
    assert found.inputs == {"x": "float32[n, 8]"}


def test_beyond_the_limit_the_level_is_a_bound(fan, monkeypatch) -> None:
    monkeypatch.setattr(module, "EXACT_ANTICHAIN_TASKS", 3)
    assert not inspect(fan).antichain_exact


def test_rich_model(rich: Path, tmp_path: Path) -> None:
    found = inspect(read(rich, tmp_path / "cache"))
    assert found.control_flow == 1
    assert found.non_tensor_values == 1
    assert found.outputs["w"] == "float32[32, 32]"
    assert found.opsets == {"ai.onnx": 17, "com.microsoft": 1}


def test_level_may_be_smaller_than_the_antichain() -> None:
    # Two chains of different phase: 0 -> 2 -> 4 and 1, 3 hanging at other depths.
    predecessors = [[], [0], [0], [2], [2], [1]]
    assert levels(predecessors) == [0, 1, 1, 2, 2, 2]
    assert widest_level(predecessors) == 3
    assert largest_antichain(predecessors) == 3


@st.composite
def orders(draw):
    size = draw(st.integers(0, 9))
    return [
        sorted(draw(st.sets(st.integers(0, i - 1), max_size=3)) if i else []) for i in range(size)
    ]


@given(orders())
def test_antichain_against_exhaustive_search(predecessors) -> None:
    below: list[set[int]] = []
    for before in predecessors:
        below.append(set(before).union(*(below[b] for b in before)))
    size = len(predecessors)
    best = max(
        k
        for k in range(size + 1)
        for group in combinations(range(size), k)
        if all(a not in below[b] for a, b in combinations(group, 2))
    )
    assert largest_antichain(predecessors) == best
    assert widest_level(predecessors) <= best


def test_names_of_dimensions_are_cut(save, tmp_path: Path) -> None:
    long = "Max(0, -Min(1024, past) + " * 200
    path = save(
        [helper.make_node("Relu", ["x"], ["y"])],
        [value("x", [long, 8])],
        [value("y", [long, 8])],
    )
    shown = inspect(read(path, tmp_path / "cache")).inputs["x"]
    assert shown == "float32[Max(0, -Min(1024, past) + Max..., 8]"
