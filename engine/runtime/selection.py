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


def interleaved_ns(
    models: Sequence[Model],
    inputs: Mapping[str, Any],
    budget_ns: int,
    min_rounds: int = 5,
    clock: Clock = time.perf_counter_ns,
) -> list[list[int]]:
    """Times of one query on each model, a list a round, after one warm-up each.

    Rounds treat all models alike on a machine that drifts; each begins with the next model, so
    that none always follows the same other one (whose threads may still spin).
    """
    for model in models:
        model.run(inputs)
    rounds: list[list[int]] = []
    began = clock()
    while len(rounds) < min_rounds or clock() - began < budget_ns:
        row = [0] * len(models)
        for place in range(len(models)):
            index = (place + len(rounds)) % len(models)
            start = clock()
            models[index].run(inputs)
            row[index] = clock() - start
        rounds.append(row)
    return rounds


def relative_times(rounds: Sequence[Sequence[int]], reference: int) -> list[float]:
    """Each model's time over the reference's of the same round, median over the rounds.

    Ratios within a round hold where the machine's speed changes from one second to the next,
    and medians of times do not.
    """
    return [
        statistics.median(row[i] / max(1, row[reference]) for row in rounds)
        for i in range(len(rounds[0]))
    ]


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
    measured = service_times_ns(timelines)
    segments = tuple(
        replace(s, service_ns=s.service_ns if _emulated(model, s.device) else measured.get(i, 0))
        for i, s in enumerate(model.plan.segments)
    )
    predicted = predict(groups, service, {i: s.service_ns for i, s in enumerate(segments)})
    return replace(model.plan, segments=segments, predicted=predicted)


def _emulated(model: Model, device: int) -> bool:
    return model.plan.devices[device].startswith("emulated")


def service_times_ns(timelines: Sequence[Timeline]) -> dict[int, int]:
    """Median service time of each segment, by index, over several traced queries."""
    rows: dict[int, list[int]] = {}
    for timeline in timelines:
        for span in timeline:
            if span.kind is SpanKind.SEGMENT:
                rows.setdefault(span.index, []).append(span.duration_ns)
    return {index: round(statistics.median(row)) for index, row in rows.items()}
