"""Measures what a scenario's policies and its simulation need to know of its models, live.

Every time is that of a group on the backend, from its start to its end as the controller would see
them: what the engine adds to the model's own time is in it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count

from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.profiles.measured_profile import (
    MeasuredModel,
    MeasuredProfile,
    MeasuredVersion,
)
from surplus.engine.devices.host import this_machine
from surplus.engine.errors import ExecutionError
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.live_model import LiveModel

_MS = 1e6
_WARM_UP = 3
_MOST_ROUNDS = 100_000


@dataclass(frozen=True)
class GroupMeasureParams:
    """How thoroughly to measure.

    Parameters
    ----------
    rounds : int
        Samples of each batch; services and batches take turns, so that a disturbance of the
        machine meets all of them.
    outlier : float
        Samples above so many medians are another process's doing, and left out.
    """

    rounds: int = 30
    outlier: float = 2.0

    def __post_init__(self) -> None:
        if not 1 <= self.rounds <= _MOST_ROUNDS:
            raise ValueError(f"rounds must be 1 to {_MOST_ROUNDS}, got {self.rounds}")
        if not self.outlier >= 1:
            raise ValueError(f"outlier must be >= 1, got {self.outlier}")


def measure(
    backend: EngineBackend,
    models: Sequence[LiveModel],
    items: Sequence[int],
    batched: Sequence[Sequence[int]],
    lanes: int,
    devices: str,
    params: GroupMeasureParams | None = None,
    progress: Callable[[str], None] = lambda text: None,
    shares: Sequence[int] = (),
) -> MeasuredProfile:
    """Times of every batch on a lane and on the whole first device, and of pairs side by side.

    Parameters
    ----------
    items : sequence of int
        Of a query, by service: what is measured in groups and side by side.
    batched : sequence of sequence of int
        Items of the batches to measure, ascending, by service.
    lanes : int
        Of the device, in the scenario.
    shares : sequence of int, optional
        Of the device, instead of one and all of its lanes; the last one is the whole device.
    """
    bench = _Bench(backend, params or GroupMeasureParams())
    by_share = bool(shares)
    shares = shares or [100 * used // lanes for used in sorted({1, lanes})]
    rows: dict[tuple[int, int, int], list[int]] = {}
    for share in shares:
        progress(f"measuring on {share} % of the device")
        rows |= bench.batches(models, batched, share)
    progress("measuring groups")
    groups_ms = [bench.groups_ms(k, model, items[k]) for k, model in enumerate(models)]
    versions: list[tuple[MeasuredVersion, ...]] = [
        bench.versions(k, model, batched[k][0], lanes) if model.versions > 1 else ()
        for k, model in enumerate(models)
    ]
    extra: dict[str, dict[str, float]] = {model.name: {} for model in models}
    if lanes > 1:
        progress("measuring pairs side by side")
        extra = bench.pairs(models, items, lanes)
    return MeasuredProfile(
        devices=devices,
        models={
            model.name: MeasuredModel(
                operators=model.operators,
                items=tuple(own),
                ms={
                    str(share): tuple(statistics.median(rows[k, n, share]) / _MS for n in own)
                    for share in shares
                },
                deviation=tuple(_deviation(rows[k, n, shares[0]]) for n in own),
                groups_ms=groups_ms[k],
                versions=versions[k],
            )
            for k, (model, own) in enumerate(zip(models, batched, strict=True))
        },
        extra=extra,
        machine=asdict(this_machine()),
        by_share=by_share,
    )


def query_times_ns(
    backend: EngineBackend, items: Sequence[int], share: int, rounds: int
) -> tuple[float, ...]:
    """Median time of a query of each service alone on a share of the first device, now.

    Parameters
    ----------
    items : sequence of int
        Of a query, by service.
    """
    bench = _Bench(backend, GroupMeasureParams(rounds))
    rows = bench.batches(backend.models, [(own,) for own in items], share)
    return tuple(statistics.median(rows[k, own, share]) for k, own in enumerate(items))


class _Bench:
    def __init__(self, backend: EngineBackend, params: GroupMeasureParams) -> None:
        self._backend = backend
        self._params = params
        self._ids = count()

    def batches(
        self, models: Sequence[LiveModel], batched: Sequence[Sequence[int]], share: int
    ) -> dict[tuple[int, int, int], list[int]]:
        """Samples of each service and batch, by (service, items, share)."""
        self._backend.prepare([Partition(0, share)])
        cases = [(k, items) for k, own in enumerate(batched) for items in own]
        found: dict[tuple[int, int, int], list[int]] = {(*case, share): [] for case in cases}
        for turn in range(_WARM_UP + self._params.rounds):
            for service, items in cases:
                took_ns = self._took_ns(0, service, items, 0, models[service].operators)
                if turn >= _WARM_UP:
                    found[service, items, share].append(took_ns)
        return {case: self._clean(samples) for case, samples in found.items()}

    def groups_ms(self, service: int, model: LiveModel, items: int) -> tuple[float, ...]:
        """Median time of each group of a query, one after the other."""
        if model.operators == 1:
            return ()
        return self._each_group_ms(service, model, items, [0])[0]

    def versions(
        self, service: int, model: LiveModel, items: int, lanes: int
    ) -> tuple[MeasuredVersion, ...]:
        """Times of each version's groups on a lane and on the whole device."""
        counts = sorted({1, lanes})
        columns = []
        for used in counts:
            self._backend.prepare([Partition(0, 100 * used // lanes)])
            columns.append(self._each_group_ms(service, model, items, range(model.versions)))
        return tuple(
            MeasuredVersion(sensitivity, tuple(counts), tuple(zip(*times, strict=True)))
            for sensitivity, times in zip(
                model.sensitivities, zip(*columns, strict=True), strict=True
            )
        )

    def _each_group_ms(
        self, service: int, model: LiveModel, items: int, versions: Sequence[int]
    ) -> list[tuple[float, ...]]:
        """Median time of each group in each version; versions take turns."""
        samples: list[list[list[int]]] = [[[] for _ in range(model.operators)] for _ in versions]
        for turn in range(_WARM_UP + self._params.rounds):
            for version, rows in zip(versions, samples, strict=True):
                query = self._query(service, items)
                for index, row in enumerate(rows):
                    took_ns = self._piece_ns(0, query, index, index + 1, version)
                    if turn >= _WARM_UP:
                        row.append(took_ns)
        return [tuple(statistics.median(row) / _MS for row in rows) for rows in samples]

    def pairs(
        self, models: Sequence[LiveModel], items: Sequence[int], lanes: int
    ) -> dict[str, dict[str, float]]:
        """By which fraction each service is slower for each neighbour of each other one.

        All other lanes run the neighbour, out of step: that is how it is when queries wait.
        """
        self._backend.prepare([Partition(0, 100 // lanes)] * lanes)
        names = [model.name for model in models]
        extra: dict[str, dict[str, float]] = {name: {} for name in names}
        for own in range(len(models)):
            for other in range(len(models)):
                alone, beside = self._pair(models, items, own, other, lanes)
                factor = statistics.median(beside) / statistics.median(alone)
                extra[names[own]][names[other]] = max(0.0, factor - 1.0) / (lanes - 1)
        return extra

    def _pair(
        self, models: Sequence[LiveModel], items: Sequence[int], own: int, other: int, lanes: int
    ) -> tuple[list[int], list[int]]:
        """Samples of a service alone, and of it with neighbours that always run, in turns."""
        alone, beside = [], []
        for turn in range(_WARM_UP + self._params.rounds):
            alone_ns = self._took_ns(0, own, items[own], 0, models[own].operators)
            beside_ns = self._beside_ns(models, items, own, other, lanes)
            if turn >= _WARM_UP:
                alone.append(alone_ns)
                beside.append(beside_ns)
        return self._clean(alone), self._clean(beside)

    def _beside_ns(
        self, models: Sequence[LiveModel], items: Sequence[int], own: int, other: int, lanes: int
    ) -> int:
        """Time of one query while its neighbours are started again whenever they end.

        It begins when each of them has ended once, so that they do not all begin with it.
        """
        apart_ns = self._took_ns(0, other, items[other], 0, models[other].operators) // lanes
        for lane in range(1, lanes):
            self._start(lane, self._query(other, items[other]), 0, models[other].operators)
            time.sleep(apart_ns / NS_PER_S)
        beside, again = lanes - 1, 0
        measured, began_ns, took_ns = None, 0, 0
        while beside or not took_ns:
            for ended in self._backend.wait(None):
                _check(ended.error)
                if ended.group is measured:
                    took_ns = time.monotonic_ns() - began_ns
                elif took_ns:
                    beside -= 1
                else:
                    lane, query = ended.group.partition, self._query(other, items[other])
                    self._start(lane, query, 0, models[other].operators)
                    again += 1
            if measured is None and again >= beside:
                began_ns = time.monotonic_ns()
                measured = self._start(0, self._query(own, items[own]), 0, models[own].operators)
        return took_ns

    def _took_ns(self, partition: int, service: int, items: int, start: int, end: int) -> int:
        return self._piece_ns(partition, self._query(service, items), start, end)

    def _piece_ns(
        self, partition: int, query: Query, start: int, end: int, version: int = 0
    ) -> int:
        began_ns = time.monotonic_ns()
        self._start(partition, query, start, end, version)
        (ended,) = self._backend.wait(None)
        _check(ended.error)
        return time.monotonic_ns() - began_ns

    def _start(self, partition: int, query: Query, start: int, end: int, version: int = 0) -> Group:
        pieces = (piece_of((query,), start, end),)
        group = Group(next(self._ids), partition, pieces, 0, 0, version=version)
        self._backend.start(group)
        return group

    def _query(self, service: int, items: int) -> Query:
        return Query(next(self._ids), service, 0, 0, 0, items)

    def _clean(self, samples: Sequence[int]) -> list[int]:
        most = self._params.outlier * statistics.median(samples)
        return [sample for sample in samples if sample <= most]


def _deviation(samples: Sequence[int]) -> float:
    return statistics.pstdev(samples) / statistics.fmean(samples)


def _check(error: str) -> None:
    if error:
        raise ExecutionError(f"a group failed while it was measured: {error}")
