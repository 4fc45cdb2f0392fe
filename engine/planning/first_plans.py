"""Which plans are tried first, when only some can be built and run."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from surplus.engine.contest.contest import ContestParams
from surplus.engine.dfg.graph import Graph
from surplus.engine.planning.stages import Costs, fits_memory
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate, single_segments, split_batches
from surplus.placement.placement import Placement

_log = logging.getLogger(__name__)

_MOST_SEGMENTS = 1024
"""A plan of more is not tried: each is a file and a session, which take 1.5 ms to make."""

_MOST_TASKS_IN_SHARDS = 10_000
"""Each shard has all tasks again, in graph, sessions and file; of so many, each is a small one, of
which the part that does not shrink with the batch counts most."""

_STORED = " (stored)"

_MAY_BE_BEST = 1.5
"""A one-segment plan that is predicted to take so much longer than the best one is not run where
time is short, nor on another device at all: a profile is not that wrong about whole models, which
it has measured."""


def whole_models(costs: Costs) -> list[Candidate]:
    """The whole model as one segment, at each width, of each device that may do it best."""
    found: list[list[Candidate]] = []
    for index, device in enumerate(costs.problem.devices):
        if None in costs.service.task_ns[index, 1] or not costs.problem.tasks:
            continue
        suffix = "" if index == 0 else f" on {device.name}"
        graphs = single_segments(costs.problem, index, costs.service)
        plans = [Candidate(f"{n}{suffix}", g, predict(g, costs.service)) for n, g in graphs]
        fitting = [plan for plan in plans if fits_memory(costs, plan)]
        if fitting:
            found.append(fitting)
    least_ns = [min(plan.predicted.makespan_ns for plan in plans) for plans in found]
    limit_ns = _MAY_BE_BEST * min(least_ns, default=0)
    return [
        plan for plans, ns in zip(found, least_ns, strict=True) if ns <= limit_ns for plan in plans
    ]


def split_plans(graph: Graph, costs: Costs, placement: Placement) -> list[Candidate]:
    """The batch in shards, where it can be split and the devices can hold them."""
    if len(graph.tasks) > _MOST_TASKS_IN_SHARDS:
        return []
    found = split_batches(graph, costs.problem, placement, costs.service)
    return [candidate for candidate in found if _split_fits(candidate)]


def _split_fits(candidate: Candidate) -> bool:
    shards = candidate.shards
    assert shards is not None, "it is of a split batch"
    return fits_memory(Costs(shards.problem, shards.service), candidate)


def first_plans(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """Every one-segment plan, narrow ones first, and the best predicted of each kind of cut.

    A split batch comes on top: what its shards take is scaled, while cuts add up what was
    measured, so that predictions do not rank one among the others.
    """
    of_kind: dict[str, Candidate] = {}
    for candidate in ranked:
        if candidate.is_trivial or candidate.shards is not None:
            continue
        if len(candidate.graph.groups) <= _MOST_SEGMENTS:
            of_kind.setdefault(candidate.name.rpartition(" ")[0], candidate)
    whole = sorted((c for c in ranked if c.is_trivial), key=lambda c: c.graph.groups[0].width)
    cuts = list(of_kind.values())[: max(0, count - 1)]
    split = [candidate for candidate in ranked if candidate.shards is not None]
    return [*whole, *split, *cuts] or list(ranked[:1])


def best_known(found: Sequence[Candidate]) -> Candidate:
    """What to take where nothing can be run: cuts must be shown to be faster than one session."""
    whole = [candidate for candidate in found if candidate.is_trivial]
    return min(whole or found, key=lambda candidate: candidate.predicted.makespan_ns)


def affordable(first: Sequence[Candidate], time_ns: int) -> list[Candidate]:
    """Those of the first plans whose least rounds fit, and two at least.

    One-segment plans that may be the best one always take part: theirs is the time to beat.
    """
    whole = [c for c in first if c.is_trivial]
    limit_ns = _MAY_BE_BEST * min((c.predicted.makespan_ns for c in whole), default=0)
    chosen = [c for c in whole if c.predicted.makespan_ns <= limit_ns]
    others = sorted((c for c in first if c not in chosen), key=lambda c: c.is_trivial)
    left_ns = time_ns - sum(map(_least_ns, chosen))
    for candidate in others:
        left_ns -= _least_ns(candidate)
        if left_ns < 0 and len(chosen) >= 2:
            break
        chosen.append(candidate)
    return [c for c in first if c in chosen]


def _least_ns(candidate: Candidate) -> int:
    """Warming up and the least rounds."""
    return candidate.predicted.makespan_ns * (1 + ContestParams.least_rounds)


def stored_plan(costs: Costs, known: Plan | None) -> list[Candidate]:
    """A stored plan as a candidate, if it has several segments and still fits."""
    if known is None or len(known.segments) < 2 or known.shards > 1:  # split ones are cut anew
        return []
    groups = {TaskGroup(s.tasks, s.device, s.width): s.rank for s in known.segments}
    try:
        graph = GroupGraph(costs.problem, groups)
        order = tuple(groups[group] for group in graph.groups)
        predicted = predict(graph, costs.service, order=order)
    except (ValueError, KeyError) as error:
        _log.warning("the stored plan is no candidate: %s", error)
        return []
    name = f"{known.name.removesuffix(_STORED)}{_STORED}"
    return [Candidate(name, graph, predicted, order)]
