"""Runs as timelines, for the Gantt chart and the trace."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.colocation.frame.load import Load
from surplus.colocation.frame.record import NEVER_NS
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.simulation.simulator import Run
from surplus.placement.timeline import Span, SpanKind, Timeline


def timeline_of(
    run: Run,
    load: Load,
    services: Sequence[Service],
    devices: Sequence[ServingDevice],
    end_ns: int | None = None,
) -> Timeline:
    """Make a span of every piece of the groups that ended by ``end_ns``.

    A device's partitions are its lanes. Pieces of one group share a lane and a time: they run
    side by side. A span is ready when the oldest of its queries came.
    """
    lanes = _lanes(run)
    record = run.record
    spans = []
    for piece, group in enumerate(record.piece_group):
        ended_ns = record.group_end_ns[group]
        if ended_ns == NEVER_NS or (end_ns is not None and ended_ns > end_ns):
            continue
        first = record.piece_first[piece]
        queries = record.piece_query[first : first + record.piece_count[piece]]
        service = record.piece_service[piece]
        partition = record.group_partition[group]
        spans.append(
            Span(
                kind=SpanKind.SEGMENT,
                index=service,
                name=f"{services[service].name} x{record.piece_items[piece]}",
                category=services[service].name,
                resource=devices[run.deployment.partitions[partition].device].name,
                lanes=(lanes[partition],),
                ready_ns=min(int(load.arrival_ns[query]) for query in queries),
                start_ns=record.group_start_ns[group],
                end_ns=ended_ns,
                query=min(queries),
            )
        )
    return Timeline.of(spans, f"simulated, {run.policy}")


def _lanes(run: Run) -> list[int]:
    """Number the partitions of each device."""
    seen: dict[int, int] = {}
    lanes = []
    for partition in run.deployment.partitions:
        lanes.append(seen.get(partition.device, 0))
        seen[partition.device] = lanes[-1] + 1
    return lanes
