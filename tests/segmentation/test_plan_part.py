"""Parts of a plan hand on what later ones read, in the memory in which these read it."""

from __future__ import annotations

from itertools import combinations

import onnx
import pytest

from surplus.engine.dfg.extract import boundary_inputs, boundary_outputs
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import read_model
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.plan_making import copies_of
from surplus.engine.segmentation.plan_part import StagedPlan
from surplus.placement.timeline import Timeline

TEXT = """<ir_version: 9, opset_import: ["" : 18]>
g (float[2] x) => (float[2] y, float[2] z) {
    a = Exp(x)  b = Neg(a)  z = Tanh(b)  c = Add(b, x)  d = Sigmoid(c)  y = Mul(d, a)
}"""
HOST, GPU = "host", "gpu"
DEVICES = {"Exp": 1, "Neg": 0, "Tanh": 1, "Add": 1, "Sigmoid": 0, "Mul": 1}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    folder = tmp_path_factory.mktemp("part")
    onnx.save(onnx.parser.parse_model(TEXT), folder / "g.onnx")
    return read_model(folder / "g.onnx", folder / "cache")


@pytest.fixture
def staged(graph: Graph) -> StagedPlan:
    """A stage a task, in two memories."""
    segments = tuple(
        Segment(
            name=task.op_type,
            device=DEVICES[task.op_type],
            width=1,
            tasks=(index,),
            inputs=tuple(boundary_inputs(graph, (index,))),
            outputs=tuple(boundary_outputs(graph, (index,))),
            rank=index,
            service_ns=1,
        )
        for index, task in enumerate(graph.tasks)
    )
    memories = HOST, GPU
    copies = copies_of(graph, segments, memories)
    plan = Plan("", "", "", ("cpu", "gpu"), memories, segments, copies, Timeline((), ""), 0)
    return StagedPlan(graph.summary, plan, range(len(segments)))


def test_the_whole_reads_the_inputs_and_makes_the_answers(staged: StagedPlan) -> None:
    part = staged.part(0, staged.count)
    assert part.reads == (("x", HOST),)
    assert set(part.makes) == {("y", HOST), ("z", HOST)} == set(part.keeps)


def test_a_copy_belongs_to_the_first_that_reads_it(graph: Graph, staged: StagedPlan) -> None:
    order = [task.op_type for task in graph.tasks]
    first_of_b = min(order.index("Tanh"), order.index("Add"))
    for index, kind in enumerate(order):
        brought = {copy.tensor for copy in staged.part(index, index + 1).copies}
        own = {"Exp": {"x"}, "Neg": {"a"}, "Tanh": {"z"}, "Sigmoid": {"c"}, "Mul": {"d", "y"}}
        assert brought == own.get(kind, set()) | ({"b"} if index == first_of_b else set())


def test_what_a_part_reads_was_kept_by_those_before_it(staged: StagedPlan) -> None:
    """However a plan is parted."""
    inner = range(1, staged.count)
    for cuts in (cuts for n in range(staged.count) for cuts in combinations(inner, n)):
        kept = {("x", HOST)}
        for first, last in zip((0, *cuts), (*cuts, staged.count), strict=True):
            part = staged.part(first, last)
            assert set(part.reads) <= kept
            kept = {*kept, *part.makes}
            assert set(part.keeps) <= kept
            kept = set(part.keeps)
        assert kept == {("y", HOST), ("z", HOST)}
