"""Measures groups of operators of several models side by side, as Abacus's controller forms them.

References
----------
Abacus (SC'21), sections 5.2 and 5.4: each group runs several times, the median is what is learnt.
A model that begins in the middle runs up to there first, untimed, so that its tensors are there.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, count, islice, product
from pathlib import Path

import numpy as np

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.overlap.features import GroupPart, Layout, Parts
from surplus.colocation.overlap.training.instances import instance_groups
from surplus.colocation.overlap.training.samples import Samples
from surplus.colocation.scenarios.live_file import ToMeasure
from surplus.engine.errors import ExecutionError
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.setting_up import load_models, places, replay_backend

_NS_PER_MS = 1e6
_MOST = 1_000_000


@dataclass(frozen=True)
class SampleParams:
    """What to measure, and how often.

    Parameters
    ----------
    together : int
        Models side by side; >= 1.
    groups : int
        Of each set of models; >= 1.
    repeats : int
        Of each group; >= 1. None of the three above a million.
    seed : int
        Of the groups; >= 0.
    """

    together: int = 2
    groups: int = 2000
    repeats: int = 20
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("together", "groups", "repeats"):
            if not 1 <= getattr(self, name) <= _MOST:
                raise ValueError(f"{name} must be 1 to {_MOST}, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")


def group_bench(asked: ToMeasure, cache: Path | None = None) -> GroupBench:
    """Load the models of a scenario on its first device.

    Raises
    ------
    ConfigError
        If its devices do not fit.
    EngineError
        If a model cannot be loaded.
    """
    devices = places(asked.live.devices, asked.lanes)
    models = load_models(asked.live, asked.names, asked.operators, devices[0], cache)
    layout = Layout(asked.names, asked.operators, len(asked.names))
    return GroupBench(replay_backend(models, devices), layout)


def sets_of(names: Sequence[str], together: int) -> list[tuple[str, ...]]:
    """Sets of models that may run side by side.

    Raises
    ------
    ValueError
        If there are too few models.
    """
    if together > len(names):
        raise ValueError(f"{together} models side by side, the scenario has {len(names)}")
    return list(combinations(names, together))


class GroupBench:
    """Runs groups on the whole first device.

    Parameters
    ----------
    backend : EngineBackend
        Nothing else may run on it.
    layout : Layout
        The services, in the backend's order.
    """

    def __init__(self, backend: EngineBackend, layout: Layout) -> None:
        self._backend = backend
        self._layout = layout
        self._ids = count()
        backend.prepare([Partition(0, 100)])

    def samples(
        self,
        names: Sequence[str],
        items: Sequence[int],
        params: SampleParams,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Samples:
        """Measure groups of a set of models, in turns: what disturbs the machine meets all alike.

        Parameters
        ----------
        items : sequence of int
            Batches of a query, equally likely.
        progress : callable
            Told how many runs are done.

        Raises
        ------
        ExecutionError
            If a group fails.
        """
        models = [self._layout.models.index(name) for name in names]
        lengths = [(0,)] * len(self._layout.models)
        generator = np.random.default_rng([params.seed, *models])
        drawn = instance_groups(self._layout, models, items, lengths, generator)
        groups = tuple(islice(drawn, params.groups))
        times_ms: list[list[float]] = [[] for _ in groups]
        turns = product(range(params.repeats + 1), zip(groups, times_ms, strict=True))
        for done, (turn, (parts, row)) in enumerate(turns):
            progress(done)
            took_ms = self._took_ms(parts)
            if turn:  # the first one warms up
                row.append(took_ms)
        return Samples(
            layout=self._layout,
            groups=groups,
            median_ms=np.array([statistics.median(row) for row in times_ms]),
            spread=np.array([statistics.pstdev(row) / statistics.fmean(row) for row in times_ms]),
        )

    def _took_ms(self, parts: Parts) -> float:
        queries = [Query(next(self._ids), part.model, 0, 0, 0, part.items) for part in parts]
        for query, part in zip(queries, parts, strict=True):
            if part.start:
                self._run([_piece(query, part, 0, part.start)])
        pieces = [
            _piece(query, part, part.start, part.end)
            for query, part in zip(queries, parts, strict=True)
        ]
        began_ns = time.monotonic_ns()
        self._run(pieces)
        took_ns = time.monotonic_ns() - began_ns
        for query in queries:
            self._backend.forget(query)
        return took_ns / _NS_PER_MS

    def _run(self, pieces: Sequence[Piece]) -> None:
        self._backend.start(Group(next(self._ids), 0, tuple(pieces), 0, 0))
        (ended,) = self._backend.wait(None)
        if ended.error:
            raise ExecutionError(f"a group failed while it was measured: {ended.error}")


def _piece(query: Query, part: GroupPart, start: int, end: int) -> Piece:
    return Piece(part.model, (query,), start, end, part.items, part.sequence)
