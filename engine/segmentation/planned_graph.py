"""The graph that a plan is of: the model's own, or that with its batch split."""

from __future__ import annotations

from surplus.engine.dfg.graph import Graph
from surplus.engine.segmentation.plan import Plan


def planned_graph(graph: Graph, plan: Plan) -> Graph:
    """The graph whose tasks the plan's segments name: split if the plan is.

    Raises
    ------
    ValueError
        If the plan splits a batch that cannot be split.
    """
    if plan.shards == 1:
        return graph
    from surplus.engine.dfg.batch_split import split_batch  # parses the model, which few plans need

    split = split_batch(graph, plan.shards)
    if split is None:
        raise ValueError(f"the batch cannot be split into {plan.shards}")
    return split.graph
