"""Samples as Prometheus' text format has them, written by prometheus-client."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import Metric, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from surplus.engine.serving.histogram import BOUNDS_US, Histogram
from surplus.engine.serving.metrics import catalogue
from surplus.engine.serving.metrics.catalogue import Definition
from surplus.engine.serving.metrics.samples import ModelSample
from surplus.engine.serving.trouble import REFUSALS, Trouble

BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128)

_HEADING = re.compile(rb"^# (HELP|TYPE) (nv_\w+)_total ", re.MULTILINE)
"""The library ends the names of counters so; Triton does not."""

_REASONS: Mapping[Trouble, str] = {
    **dict.fromkeys(REFUSALS, "REJECTED"),
    Trouble.CANCELLED: "CANCELED",
    Trouble.FAILED: "BACKEND",
    Trouble.DEADLINE: "OTHER",
    Trouble.INPUT: "OTHER",
}
"""What Triton calls it."""

_DURATION_BOUNDS = (*(str(bound_us / 1e6) for bound_us in BOUNDS_US), "+Inf")

Rows = Iterable[tuple[Sequence[str], float]]

_COUNTED: tuple[tuple[Definition, Callable[[ModelSample], float]], ...] = (
    (catalogue.REQUEST_SUCCESS, lambda model: model.success),
    (catalogue.INFERENCE_COUNT, lambda model: model.computed),
    (catalogue.EXEC_COUNT, lambda model: model.calls + model.step_calls),
    (catalogue.REQUEST_DURATION, lambda model: model.success_ns // 1000),
    (catalogue.QUEUE_DURATION, lambda model: model.queue_ns // 1000),
    (catalogue.COMPUTE_INPUT, lambda model: model.compute_input_ns // 1000),
    (catalogue.COMPUTE_INFER, lambda model: model.compute_infer_ns // 1000),
    (catalogue.COMPUTE_OUTPUT, lambda model: model.compute_output_ns // 1000),
    (catalogue.CACHE_HITS, lambda model: model.cache_hits),
    (catalogue.CACHE_MISSES, lambda model: model.cache_misses),
    (catalogue.CACHE_HIT_DURATION, lambda model: model.cache_hit_ns // 1000),
    (catalogue.CACHE_MISS_DURATION, lambda model: model.cache_miss_ns // 1000),
    (catalogue.PENDING, lambda model: model.in_flight),
)

_TIMED: tuple[tuple[Definition, Callable[[ModelSample], Histogram]], ...] = (
    (catalogue.DURATION, lambda model: model.times.whole),
    (catalogue.QUEUE, lambda model: model.times.queue),
    (catalogue.COMPUTE, lambda model: model.times.compute),
)


def family(definition: Definition, rows: Rows) -> Metric:
    """A counter or gauge: the values of its labels, and its own."""
    found = Metric(definition.name.removesuffix("_total"), definition.text, definition.kind)
    for labels, value in rows:
        found.add_sample(definition.name, _named(definition, labels), value)
    return found


def model_families(models: Sequence[ModelSample]) -> Iterator[Metric]:
    """All that is counted by model."""
    for definition, value in _COUNTED:
        yield family(definition, [(model.labels, value(model)) for model in models])
    wanted = [model for model in models if not model.is_unloaded]
    yield family(catalogue.READY, [(model.labels, model.is_ready) for model in wanted])
    measured = [(model.labels, model.cost_bytes) for model in models if model.cost_bytes]
    yield family(catalogue.MODEL_MEMORY, measured)
    yield family(catalogue.REQUEST_FAILURE, _failures(models))
    yield family(catalogue.REFUSALS, _refusals(models))
    yield family(catalogue.MISSES, _misses(models))
    for definition, times in _TIMED:
        found = _histogram(definition)
        for model in models:
            times_of = times(model)
            _fill(found, definition, model, _DURATION_BOUNDS, times_of.counts, times_of.total_s)
        yield found
    yield _batch_sizes(models)


def text_of(families: Iterable[Metric]) -> bytes:
    """The text that Prometheus scrapes."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(tuple(families)))
    return _HEADING.sub(rb"# \1 \2 ", generate_latest(registry))


class _Given(Collector):
    """Of what was collected already."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def _failures(models: Sequence[ModelSample]) -> Iterator[tuple[Sequence[str], float]]:
    """Every reason of each model, so that rates are known before the first failure."""
    for model in models:
        total = Counter(dict.fromkeys(_REASONS.values(), 0))
        for trouble, reason in _REASONS.items():
            total[reason] += model.trouble.get(trouble, 0)
        for reason, count in total.items():
            yield (*model.labels, reason), count


def _refusals(models: Sequence[ModelSample]) -> Iterator[tuple[Sequence[str], float]]:
    for model in models:
        for trouble in REFUSALS:
            yield (*model.labels, trouble.value), model.trouble.get(trouble, 0)


def _misses(models: Sequence[ModelSample]) -> Iterator[tuple[Sequence[str], float]]:
    for model in models:
        yield (*model.labels, "answered"), model.trouble.get(Trouble.LATE, 0)
        yield (*model.labels, "ended"), model.trouble.get(Trouble.DEADLINE, 0)


def _batch_sizes(models: Sequence[ModelSample]) -> Metric:
    found = _histogram(catalogue.BATCH_SIZE)
    for model in models:
        stacked = sum(model.batches.values())
        sizes = Counter({1: max(0, model.calls - stacked), **model.batches})
        counts = [0] * (len(BATCH_BOUNDS) + 1)
        for size, calls in sizes.items():
            counts[sum(size > bound for bound in BATCH_BOUNDS)] += calls
        bounds = (*map(str, map(float, BATCH_BOUNDS)), "+Inf")
        answered = sum(size * calls for size, calls in sizes.items())
        _fill(found, catalogue.BATCH_SIZE, model, bounds, counts, answered)
    return found


def _histogram(definition: Definition) -> Metric:
    return Metric(definition.name, definition.text, "histogram")


def _fill(
    found: Metric,
    definition: Definition,
    model: ModelSample,
    bounds: Sequence[str],
    counts: Sequence[int],
    total: float,
) -> None:
    """Add one model's; nothing of one that nobody asked: its buckets would be most of the text."""
    if not any(counts):
        return
    labels = _named(definition, model.labels)
    for bound, count in zip(bounds, accumulate(counts), strict=True):
        found.add_sample(f"{definition.name}_bucket", {**labels, "le": bound}, count)
    found.add_sample(f"{definition.name}_count", labels, sum(counts))
    found.add_sample(f"{definition.name}_sum", labels, total)


def _named(definition: Definition, labels: Sequence[str]) -> dict[str, str]:
    return dict(zip(definition.labels, labels, strict=True))
