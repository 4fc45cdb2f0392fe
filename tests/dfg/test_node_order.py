from __future__ import annotations

import onnx
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from surplus.engine.dfg.node_order import depth_first


def graph_of(reads: dict[str, list[str]], outputs: list[str]) -> onnx.GraphProto:
    """A node for each name, reading others; order as given."""
    nodes = [helper.make_node("Sum", names, [name], name=name) for name, names in reads.items()]
    ends = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
    return helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, None)], ends)


def order(reads: dict[str, list[str]], outputs: list[str]) -> list[str]:
    return [node.name for node in depth_first(graph_of(reads, outputs))]


def test_branches_follow_the_inputs_of_their_join() -> None:
    reads = {
        "fork": ["x"],
        "c1": ["fork"],
        "a1": ["fork"],
        "b1": ["fork"],
        "b2": ["b1"],
        "a2": ["a1"],
        "join": ["a2", "b2", "c1"],
    }
    assert order(reads, ["join"]) == ["fork", "a1", "a2", "b1", "b2", "c1", "join"]


def test_what_leads_to_no_output_comes_last() -> None:
    reads = {"dead": ["x"], "a": ["x"], "end": ["a"], "idle": ["a"]}
    assert order(reads, ["end"]) == ["a", "end", "dead", "idle"]


@given(st.data())
def test_every_order_is_topological_and_whole(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    reads = {
        f"n{i}": data.draw(
            st.lists(st.sampled_from(["x", *(f"n{k}" for k in range(i))]), min_size=1, max_size=3)
        )
        for i in range(count)
    }
    outputs = data.draw(st.lists(st.sampled_from(sorted(reads)), min_size=1, unique=True))
    found = order(reads, outputs)
    assert sorted(found) == sorted(reads)
    place = {name: i for i, name in enumerate(found)}
    assert all(place[b] < place[a] for a, names in reads.items() for b in names if b != "x")


def test_deep_graphs_need_no_deep_stack() -> None:
    reads = {"n0": ["x"], **{f"n{i}": [f"n{i - 1}"] for i in range(1, 5000)}}
    assert order(reads, ["n4999"])[-1] == "n4999"
