"""What segments cost in place, and a plan predicted again from that.

A segment in place costs its service time and the hand-over to it: from when its inputs were made
and its lane was free until it started. Both come from the same traced query as the makespan, so
a machine that changes speed cannot tear them apart; sums of medians of different queries come
out below the median of sums. Where queries are short the traced one is slower than the others (it
takes the careful path in Python); its times are scaled to theirs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.engine.contest.contest import ContestTurn
from surplus.engine.contest.within_runs import within_runs_ns
from surplus.engine.devices.spec import traits_of
from surplus.engine.segmentation.best_case import bound_in_place_ns
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.plan import Plan, Segment
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.timeline import Span, SpanKind, Timeline


@dataclass(frozen=True)
class Cost:
    """One execution of a segment: its own time, and the time lost before it."""

    service_ns: int
    hand_over_ns: int

    @property
    def total_ns(self) -> int:
        """What a prediction must count."""
        return self.service_ns + self.hand_over_ns


def costs_in_place(graph: GroupGraph, service: ServiceTimes, turn: ContestTurn) -> dict[int, Cost]:
    """Cost of each segment of a turn's query, by index; absent where it never ran."""
    spans = {s.index: s for s in turn.timeline if s.kind is SpanKind.SEGMENT}
    free_ns = _lane_free_ns(spans)
    started = sorted(range(len(graph.groups)), key=lambda i: spans[i].start_ns if i in spans else 0)
    within_ns = within_runs_ns(graph, service, started)
    found: dict[int, Cost] = {}
    for index, span in spans.items():
        ready_ns = max(free_ns[index], _released_ns(graph, spans, index))
        hand_over_ns = max(0, span.start_ns - ready_ns)
        own_ns = max(0, round(span.duration_ns * turn.pace) - within_ns.get(index, 0))
        found[index] = Cost(own_ns, round(hand_over_ns * turn.pace))
    return found


def _released_ns(graph: GroupGraph, spans: Mapping[int, Span], index: int) -> int:
    """When the last input was made; where one is copied first, when it had arrived."""
    before = graph.predecessors[index]
    memory = graph.problem.devices[graph.groups[index].device].memory
    if any(graph.problem.devices[graph.groups[b].device].memory != memory for b in before):
        return spans[index].ready_ns
    return max((spans[b].end_ns for b in before if b in spans), default=0)


def _lane_free_ns(spans: Mapping[int, Span]) -> dict[int, int]:
    """When the lanes of each span had ended what they ran before it."""
    free: dict[tuple[str, int], int] = {}
    found: dict[int, int] = {}
    for index, span in sorted(spans.items(), key=lambda item: item[1].start_ns):
        lanes = [(span.resource, lane) for lane in span.lanes]
        found[index] = max((free.get(lane, 0) for lane in lanes), default=0)
        free.update(dict.fromkeys(lanes, span.end_ns))
    return found


def typical(turns: Sequence[ContestTurn]) -> ContestTurn:
    """The turn whose queries were neither fast nor slow."""
    ordered = sorted(turns, key=lambda turn: turn.wall_ns)
    return ordered[(len(ordered) - 1) // 2]


def outside_ns(turns: Sequence[ContestTurn]) -> int:
    """Time of a query before its submission to the core and after its last segment."""
    return round(
        statistics.median(
            max(0, turn.traced_ns - turn.timeline.makespan_ns) * turn.pace for turn in turns
        )
    )


def refit(
    plan: Plan, graph: GroupGraph, service: ServiceTimes, turns: Sequence[ContestTurn]
) -> Plan:
    """The plan with service times measured in place, and a new prediction from them.

    Measured in place counts what the segments cost each other (caches, memory bandwidth), which
    no isolated measurement shows. Segments of an emulated device keep what they are charged. The
    prediction starts with the time that a query spends outside of the core. The bound is computed
    again from the same times, so that it stays below the prediction.

    Parameters
    ----------
    turns : sequence of ContestTurn
        Of this plan, at least one.
    """
    costs = costs_in_place(graph, service, typical(turns))
    segments = tuple(
        segment
        if traits_of(plan.devices[segment.device]).is_emulated
        else replace(segment, service_ns=costs[index].service_ns if index in costs else 0)
        for index, segment in enumerate(plan.segments)
    )
    # What submission takes on a GPU is in the prediction itself.
    total_ns = {
        index: segment.service_ns
        + (costs[index].hand_over_ns if index in costs and not _submits(service, segment) else 0)
        for index, segment in enumerate(segments)
    }
    ranks = [segment.rank for segment in segments]
    predicted = predict(graph, service, measured_ns=total_ns, order=ranks)
    delay_ns = outside_ns(turns)
    return replace(
        plan,
        segments=segments,
        predicted=Timeline.of((span.later(delay_ns) for span in predicted), predicted.origin),
        bound_ns=bound_in_place_ns(graph, service, total_ns),
    )


def _submits(service: ServiceTimes, segment: Segment) -> bool:
    return service.submit_ns.get(segment.device, 0) > 0
