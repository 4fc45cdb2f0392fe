"""From a placement to candidate segmentations, best predicted first.

SIR+ (section 6.2) fuses linear chains; here whole clusters are merged, for several sizes of
what counts as a hub and several depths of slabs, and the simulator judges each. The whole model
as one segment is always a candidate where one device can run it, so the result never loses to
plain ONNX Runtime by more than the prediction's error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from surplus.engine.devices.spec import traits_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.profiling.planning_time import UNLIMITED
from surplus.engine.segmentation.clusters import Cluster, clusters
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.packing import pack
from surplus.engine.segmentation.service import ServiceTimes
from surplus.engine.segmentation.shards import Shards, shards_of
from surplus.engine.segmentation.slabs import slabs
from surplus.engine.segmentation.widths import choose_widths
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem
from surplus.placement.timeline import Timeline


@dataclass(frozen=True)
class SegmentationParams:
    """What to try.

    Parameters
    ----------
    fans : tuple of int
        Degrees from which a task counts as a hub (clusters.py).
    thickness : tuple of int
        Levels of a slab (slabs.py).
    per_lane : tuple of int
        Groups per lane and phase.
    """

    fans: tuple[int, ...] = (2, 3, 4, 8, 16, 32)
    thickness: tuple[int, ...] = (1, 2, 3)
    per_lane: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Candidate:
    """One segmentation with what the simulator predicts for it.

    Parameters
    ----------
    order : tuple of int, optional
        Rank of each group in the queues; by default as the graph lists them.
    shards : Shards, optional
        Where the batch is split: the graph and the times that the groups are of.
    """

    name: str
    graph: GroupGraph
    predicted: Timeline
    order: tuple[int, ...] | None = None
    shards: Shards | None = None

    @property
    def is_trivial(self) -> bool:
        """Whether the whole model is one segment."""
        return len(self.graph.groups) == 1


def segment(
    problem: Problem,
    placement: Placement,
    service: ServiceTimes,
    params: SegmentationParams | None = None,
    is_over: Callable[[], bool] = UNLIMITED.is_over,
) -> list[Candidate]:
    """All distinct candidates for a placement, best predicted makespan first.

    Trivial candidates are included, one for each width, if the placement uses one device. Where it
    says how wide tasks run, every segment is of tasks of one width, and as wide.

    Parameters
    ----------
    is_over : callable
        Asked before each further candidate: whether those there are must do.
    """
    found: dict[tuple[TaskGroup, ...], Candidate] = {}
    for name, graph in _graphs(problem, placement, service, params or SegmentationParams()):
        if graph.groups not in found:
            found[graph.groups] = Candidate(name, graph, predict(graph, service))
        if is_over() and len(graph.groups) > 1:
            break
    return sorted(
        found.values(), key=lambda c: (c.predicted.makespan_ns, len(c.graph.groups), c.name)
    )


def single_segments(
    problem: Problem, device: int, service: ServiceTimes
) -> Iterator[tuple[str, GroupGraph]]:
    """The whole model as one segment of ``device``, at each width."""
    everything = tuple(range(len(problem.tasks)))
    for width in service.widths(device):
        yield f"whole x{width}", GroupGraph(problem, [TaskGroup(everything, device, width)])


def split_batches(
    graph: Graph, problem: Problem, placement: Placement, service: ServiceTimes
) -> list[Candidate]:
    """The batch in as many shards as there are lanes, if one CPU does all and it can be split."""
    used = set(placement.device_of)
    if len(used) != 1 or not traits_of(problem.devices[min(used)].name).is_host:
        return []
    device = used.pop()
    lanes = problem.devices[device].lanes
    shards = shards_of(graph, problem, service, lanes) if lanes > 1 else None
    if shards is None:
        return []
    groups = shards.groups(device)
    return [Candidate(f"batch in {lanes}", groups, predict(groups, shards.service), shards=shards)]


def per_task(problem: Problem, placement: Placement) -> GroupGraph:
    """Every task a segment of its own: the finest cut, which keeps the placement's holds."""
    rows = zip(placement.device_of, _widths(placement), strict=True)
    groups = [TaskGroup((t,), device, width) for t, (device, width) in enumerate(rows)]
    holds = placement.holds or placement.copy_holds
    return GroupGraph(problem, groups, placement if holds else None)


def _graphs(
    problem: Problem, placement: Placement, service: ServiceTimes, params: SegmentationParams
) -> Iterator[tuple[str, GroupGraph]]:
    used, is_planned = set(placement.device_of), bool(placement.width_of)
    if len(used) == 1 and problem.tasks:
        for name, whole in single_segments(problem, used.pop(), service):
            if not is_planned or set(placement.width_of) == {whole.groups[0].width}:
                yield name, whole
    lanes = list(zip(placement.device_of, _widths(placement), strict=True))
    cuts = _cuts(problem, [(*row, False) for row in lanes], params)
    kinds = [(*row, service.may_be_captured((task,), row[0])) for task, row in enumerate(lanes)]
    if len(set(kinds)) > len(set(lanes)):
        for name, cut in _cuts(problem, kinds, params).items():
            cuts[f"{name} captures"] = cut
    for name, cut in cuts.items():
        for per_lane in params.per_lane:
            packed = GroupGraph(problem, pack(problem, cut, service, per_lane))
            yield f"{name} x{per_lane}", choose_widths(packed, service, is_planned=is_planned)


def _widths(placement: Placement) -> Sequence[int]:
    """Of each task; one lane where nothing is planned, before groups are given more."""
    return placement.width_of or (1,) * len(placement.device_of)


_Kind = tuple[int, int, bool]
"""What tasks of a segment share: device, width, and whether that captures them, where it counts."""


def _cuts(
    problem: Problem, kind_of: Sequence[_Kind], params: SegmentationParams
) -> dict[str, list[Cluster]]:
    """Clusters of tasks of one kind, cut in all ways."""
    kinds = list(dict.fromkeys(kind_of))
    number = {kind: index for index, kind in enumerate(kinds)}
    numbers = [number[kind] for kind in kind_of]
    cuts = {f"fan {fan}": clusters(problem, numbers, fan) for fan in params.fans}
    cuts |= {f"slab {depth}": slabs(problem, numbers, depth) for depth in params.thickness}
    return {
        name: [replace(c, device=kinds[c.device][0], width=kinds[c.device][1]) for c in cut]
        for name, cut in cuts.items()
    }
