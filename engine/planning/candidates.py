"""All plans that are thought of for a model, of several sources, each with a prediction.

No prediction alone decides: the whole model as one segment of each device is always among them,
since it is what must be beaten when the best are run (first_plans.py, choice.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from surplus.engine.contest.contest import ContestParams
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import PlacementError
from surplus.engine.planning.first_plans import split_plans, whole_models
from surplus.engine.planning.stages import Costs, candidates, excess_of, finest_cut
from surplus.engine.segmentation.cluster_placement import labels, placed
from surplus.engine.segmentation.clusters import clusters
from surplus.engine.segmentation.segmenter import Candidate, SegmentationParams
from surplus.engine.segmentation.slabs import slabs
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.room import fits

_log = logging.getLogger(__name__)

_HUBS = (4, 8)
_LEVELS = 3
"""Where the graph is cut to place clusters: at hubs of these degrees, and after so many levels."""

_TIGHTER = (0.95, 0.9, 0.8)
"""Shares of the memory within which to place again where it limits the cuts of a placement."""

_CUTS_OF_CLUSTERS = SegmentationParams(fans=(2, 4, 8), thickness=(2,), per_lane=(1, 2, 4))
"""Several groups a lane: one device begins with what another has done while that goes on."""

Place = Callable[[Problem], Placement]
"""A placement policy with its options."""


def all_candidates(
    graph: Graph,
    costs: Costs,
    placement: Placement,
    place: Place | None = None,
    *,
    keeps_devices: bool = False,
) -> list[Candidate]:
    """Whole models, cuts of the placement, of placements of clusters, the batch in shards.

    No shards where the placement says how wide tasks run: these are other tasks, of one lane each.

    Parameters
    ----------
    place : callable, optional
        The policy that made the placement. Without it the placement stands: nothing is placed
        otherwise, neither clusters nor whole models.
    keeps_devices : bool
        Whether the policy's choice of devices is the user's (placement/policy.py): then only
        what no memory holds is placed otherwise.

    Raises
    ------
    PlacementError
        If a memory does not hold what is placed there, however it is cut.
    """
    several = len(costs.problem.devices) > 1
    if place is not None and not several and not may_gain(costs):
        return [*whole_models(costs), *split_plans(graph, costs, placement)]
    cuts = _fitting_cuts(costs, placement, place)
    if place is not None and several and not keeps_devices:
        cuts = [c for c in cuts if not c.is_trivial] + by_clusters(costs, place)
        cuts = [*whole_models(costs), *sorted(cuts, key=_promise)]
    may_split = not (costs.time.is_over() or placement.width_of)
    found = [*cuts, *split_plans(graph, costs, placement)] if may_split else cuts
    if not found and costs.problem.tasks:
        raise PlacementError(excess_of(costs, finest_cut(costs, placement)))
    return found


def may_gain(costs: Costs) -> bool:
    """Whether a cut could be enough faster than the whole model: in a chain, none can.

    The lower bound holds for every cut at every width. Where dispatch outweighs tiny operators,
    cuts are predicted to pay for it as the whole model does, which the bound leaves out.
    """
    whole_ns = min((plan.predicted.makespan_ns for plan in whole_models(costs)), default=0)
    dispatch = min((max(1.0, factor) for factor in costs.service.fusion.values()), default=1.0)
    return costs.bound_ns * dispatch < (1 - ContestParams.min_gain) * whole_ns


def _fitting_cuts(costs: Costs, placement: Placement, place: Place | None) -> list[Candidate]:
    """Cuts of the placement; where memory limits it also of some within tighter limits.

    A policy counts tasks one by one: segments hold more at once, and others at a time. So a
    placement that fills a memory leaves few cuts that fit, if any. Tighter ones are tried as long
    as they help.
    """
    cuts = candidates(costs, placement)
    for share in _TIGHTER:
        if place is None or (cuts and costs.time.is_over()):
            break
        problem = _within(costs.problem, share)
        if cuts and fits(problem, placement):
            break
        try:
            found = candidates(costs, place(problem))
        except PlacementError as error:
            _log.debug("no placement within %g of the memory: %s", share, error)
            continue
        shortest_ns = _shortest_ns(cuts)
        cuts += [replace(one, name=f"within {share:g}, {one.name}") for one in found]
        if cuts and _shortest_ns(cuts) == shortest_ns:
            break
    return cuts


def _within(problem: Problem, share: float) -> Problem:
    """The problem with so much of each limited memory."""
    devices = tuple(
        replace(d, memory_bytes=None if d.memory_bytes is None else int(d.memory_bytes * share))
        for d in problem.devices
    )
    return replace(problem, devices=devices)


def by_clusters(costs: Costs, place: Place) -> list[Candidate]:
    """The best cut of each placement of clusters."""
    best = (cuts[0] for cuts in cuts_of_clusters(costs, place, _CUTS_OF_CLUSTERS) if cuts)
    return [candidate for candidate in best if not candidate.is_trivial]


def cuts_of_clusters(
    costs: Costs, place: Place, params: SegmentationParams
) -> Iterator[list[Candidate]]:
    """Of each placement of clusters (segmentation/cluster_placement.py) all cuts, best first."""
    problem, service = costs.problem, costs.service
    kinds = labels(problem, service)
    cuts = {f"fan {hub}": clusters(problem, kinds, hub) for hub in _HUBS}
    cuts[f"slab {_LEVELS}"] = slabs(problem, kinds, _LEVELS)
    for name, cut in cuts.items():
        try:
            placement = placed(problem, cut, service, place)
        except PlacementError as error:
            _log.debug("no placement of clusters, %s: %s", name, error)
            continue
        found = candidates(costs, placement, params)
        yield [replace(c, name=f"{name} placed, {c.name}") for c in found]
        if costs.time.is_over():
            return


def _shortest_ns(cuts: Sequence[Candidate]) -> int | None:
    return min((cut.predicted.makespan_ns for cut in cuts), default=None)


def _promise(candidate: Candidate) -> tuple[int, int, str]:
    """Sorts the best predicted first, as ``segment`` does."""
    return candidate.predicted.makespan_ns, len(candidate.graph.groups), candidate.name
