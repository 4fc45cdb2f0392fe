from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surplus.engine.contest.reference import run_reference
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.join import PartialJoin
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.dfg.partial_join import joined_names, joined_type
from surplus.engine.native import open_session
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.joins import partial_joins
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.plan_making import make_plan
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.values import to_value
from surplus.placement.problem import Device, Link, Problem, Task, Tensor
from tests.counted_calls import LINEAR, CountedName, touches_of

BRANCHES = 10


def fan(order: list[str], outputs: list[str], rows: int | str = 2) -> onnx.ModelProto:
    """x -> BRANCHES times (Mul by its number, Tanh) -> Concat in ``order`` along the last axis."""
    nodes, constants = [], []
    for i in range(BRANCHES):
        constants.append(helper.make_tensor(f"c{i}", TensorProto.FLOAT, [], [i + 1.5]))
        nodes.append(helper.make_node("Mul", ["x", f"c{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Tanh", [f"m{i}"], [f"b{i}"]))
    nodes.append(helper.make_node("Concat", order, ["y"], name="meet", axis=-1))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 3])
    graph = helper.make_graph(nodes, "fan", [given], values, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def load(tmp_path: Path):
    def load(model: onnx.ModelProto) -> Graph:
        path = tmp_path / "fan.onnx"
        onnx.save(model, path)
        return read(path, tmp_path / "cache")

    return load


def all_branches() -> list[str]:
    return [f"b{i}" for i in range(BRANCHES)]


def halves(graph: Graph, size_bytes: int = 24, memory: str = "host") -> GroupGraph:
    """The branches of b0 to b4, the other ones, and the Concat."""
    devices = (Device("cpu", 2), Device("other", 1, memory))
    tasks = tuple(Task(t.name, t.op_type, (1000, 1000)) for t in graph.tasks)
    tensors = tuple(
        Tensor(t.name, t.producer, t.consumers, size_bytes, t.is_output) for t in graph.tensors
    )
    links = (Link("host", memory), Link(memory, "host")) if memory != "host" else ()
    problem = Problem("fan", devices, links, tasks, tensors)
    rows: list[list[int]] = [[], [], []]
    for index, task in enumerate(graph.tasks):
        part = 2 if task.op_type == "Concat" else int(int(task.node.output[0][1:]) >= 5)
        rows[part].append(index)
    groups = [TaskGroup(tuple(row), device) for row, device in zip(rows, (0, 1, 0), strict=True)]
    return GroupGraph(problem, groups)


def plan_of(graph: Graph, groups: GroupGraph) -> Plan:
    service = ServiceTimes.of(groups.problem)
    timeline = predict(groups, service)
    return make_plan(graph, groups, service, timeline, name="halves", policy="test", bound_ns=0)


def joined(graph: Graph, groups: GroupGraph) -> list[list[tuple[str, ...]]]:
    """What the group of b0 to b4, the other one and the Concat's make or read."""
    found = partial_joins(graph, groups)
    order = [_group_with(graph, groups, name) for name in ("b0", "b9", "y")]
    return [[join.tensors for join in found[index]] for index in order]


def _group_with(graph: Graph, groups: GroupGraph, tensor: str) -> int:
    maker = graph.tensors[graph.tensor_index[tensor]].producer
    return next(i for i, group in enumerate(groups.groups) if maker in group.tasks)


@pytest.mark.parametrize("rows", [2, "rows"])
def test_each_segment_does_its_part_and_the_bits_stay(load, rows) -> None:
    model = fan(all_branches(), ["y"], rows)
    graph = load(model)
    plan = plan_of(graph, halves(graph))
    assert [len(s.inputs) for s in plan.segments] == [1, 1, 2]
    assert [len(s.outputs) for s in plan.segments] == [1, 1, 1]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (want,) = open_session(model.SerializeToString()).run({"x": to_value(x)})
    got = run_reference(graph, plan, {"x": x})["y"]
    np.testing.assert_array_equal(got, want.to_numpy())
    assert Plan.from_json(plan.to_json()) == plan


def test_runs_are_neighbours_of_one_maker(load) -> None:
    order = ["b0", "b5", "b1", "b2", "b3", "b4", "b6", "b7", "b8", "b9"]
    graph = load(fan(order, ["y"]))
    first, second, reader = joined(graph, halves(graph))
    assert first == [("b1", "b2", "b3", "b4")]
    assert second == [("b6", "b7", "b8", "b9")]
    assert reader == first + second


def test_what_others_read_stays(load) -> None:
    graph = load(fan(all_branches(), ["y", "b2"]))
    first, second, _ = joined(graph, halves(graph))
    assert first == []  # b2 is an output: b0 b1 and b3 b4 are too few
    assert second == [("b5", "b6", "b7", "b8", "b9")]


def test_a_tensor_that_is_read_twice_stays(load) -> None:
    graph = load(fan([*all_branches(), "b9"], ["y"]))
    _, second, _ = joined(graph, halves(graph))
    assert second == [("b5", "b6", "b7", "b8")]


def test_large_tensors_and_other_memories_stay(load) -> None:
    graph = load(fan(all_branches(), ["y"]))
    assert joined(graph, halves(graph, size_bytes=1 << 20)) == [[], [], []]
    far = joined(graph, halves(graph, memory="gpu"))
    assert far == [[tuple(all_branches()[:5])], [], [tuple(all_branches()[:5])]]


def test_names_are_replaced_once_and_others_kept() -> None:
    join = PartialJoin("ab", 0, ("a", "b"))
    assert joined_names(["z", "a", "b", "z"], [join]) == ["z", "ab", "z"]


def test_type_of_a_join(load) -> None:
    graph = load(fan(all_branches(), ["y"], rows="rows"))
    (join, *_) = partial_joins(graph, halves(graph))[0]
    kind = joined_type(graph, join).tensor_type
    assert kind.elem_type == TensorProto.FLOAT
    assert [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim] == [None, 15]


def test_twice_the_joined_names_are_twice_the_work() -> None:
    def touched(count: int) -> int:
        names = [CountedName(f"v{i}") for i in range(count)]
        joins = [
            PartialJoin(CountedName(f"j{first}"), 0, tuple(names[first : first + 4]))
            for first in range(0, count, 4)
        ]
        return touches_of(lambda: joined_names(names, joins))

    assert touched(800) < LINEAR * touched(400)
