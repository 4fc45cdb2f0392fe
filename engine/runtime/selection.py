"""Chooses among built plans by running them, and feeds measured times back into a plan."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.runtime.model import Model
from engine.segmentation.coarse import predict
from engine.segmentation.groups import GroupGraph
from engine.segmentation.plan import Plan
from engine.segmentation.service import ServiceTimes
from placement.timeline import SpanKind, Timeline

Clock = Callable[[], int]


def median_times_ns(
    models: Sequence[Model],
    inputs: Mapping[str, Any],
    budget_ns: int,
    min_rounds: int = 3,
    clock: Clock = time.perf_counter_ns,
) -> list[int]:
    """Median time of one query on each model, in interleaved rounds after one warm-up each.

    Interleaving makes a machine that drifts treat all of them alike.
    """
    for model in models:
        model.run(inputs)
    times: list[list[int]] = [[] for _ in models]
    began = clock()
    while len(times[0]) < min_rounds or clock() - began < budget_ns:
        for row, model in zip(times, models, strict=True):
            start = clock()
            model.run(inputs)
            row.append(clock() - start)
    return [round(statistics.median(row)) for row in times]


def refit(
    model: Model,
    groups: GroupGraph,
    service: ServiceTimes,
    inputs: Mapping[str, Any],
    runs: int = 7,
) -> Plan:
    """The model's plan with service times measured in place and a new prediction from them.

    Measured in place counts what the segments cost each other (caches, memory bandwidth), which
    no isolated measurement shows. Segments of an emulated device keep what they are charged.
    """
    model.run(inputs)
    timelines: list[Timeline] = []
    for _ in range(runs):
        model.run(inputs, traced=True)
        timelines.append(model.timeline())
    measured = _median_service_ns(timelines)
    segments = tuple(
        replace(s, service_ns=s.service_ns if _emulated(model, s.device) else measured.get(i, 0))
        for i, s in enumerate(model.plan.segments)
    )
    predicted = predict(groups, service, {i: s.service_ns for i, s in enumerate(segments)})
    return replace(model.plan, segments=segments, predicted=predicted)


def _emulated(model: Model, device: int) -> bool:
    return model.plan.devices[device].startswith("emulated")


def _median_service_ns(timelines: Sequence[Timeline]) -> dict[int, int]:
    rows: dict[int, list[int]] = {}
    for timeline in timelines:
        for span in timeline:
            if span.kind is SpanKind.SEGMENT:
                rows.setdefault(span.index, []).append(span.duration_ns)
    return {index: round(statistics.median(row)) for index, row in rows.items()}
