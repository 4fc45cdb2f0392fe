"""What is sent when, decided before a run: kinds of queries, their turns, their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.arrivals import ArrivalProcess, TraceArrivals
from surplus.loadgen.arrivals.trace import TraceLabel
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.params import LoadgenParams

_MOST_KINDS = 256
_CYCLE = 1 << 13
"""Queries of a closed loop whose models are drawn; then the draws begin anew."""


@dataclass(frozen=True)
class QueryPlan:
    """The queries of one run.

    Parameters
    ----------
    kinds : tuple of AskedModel
        A model with a priority and a timeout each; several may be of one model.
    kind : int array
        Which of them each query is of; over and over.
    offsets_ns : int64 array
        Intended send times of an open loop; empty for a closed one.
    """

    kinds: tuple[AskedModel, ...]
    kind: NDArray[np.int64]
    offsets_ns: NDArray[np.int64]

    def turns(self, counts: Sequence[int]) -> NDArray[np.uint32]:
        """Which request each query sends, over and over.

        Parameters
        ----------
        counts : sequence of int
            How many requests each kind has; its queries take turns through them.
        """
        if len(self.kinds) == 1:
            return np.arange(counts[0], dtype=np.uint32)
        first = np.concatenate([[0], np.cumsum(counts)])
        turns = np.empty(len(self.kind), np.uint32)
        for place, count in enumerate(counts):
            rows = np.flatnonzero(self.kind == place)
            turns[rows] = first[place] + np.arange(len(rows)) % count
        return turns


def kinds_of(
    models: Sequence[AskedModel], process: ArrivalProcess | None
) -> tuple[tuple[AskedModel, ...], NDArray[np.int64] | None]:
    """The kinds of queries of a load, and which one each row of a trace is of.

    Raises
    ------
    ValueError
        If a trace names a model that is not asked, or has too many kinds.
    """
    labels = process.labels if isinstance(process, TraceArrivals) else ()
    if all(label == TraceLabel() for label in labels):
        return tuple(models), None
    known = {model.name: model for model in models}
    places: dict[TraceLabel, int] = {}
    kinds: list[AskedModel] = []
    rows = np.empty(len(labels), np.int64)
    for row, label in enumerate(labels):
        if label not in places:
            places[label] = len(kinds)
            kinds.append(_labelled(label, known, models))
        rows[row] = places[label]
    if len(kinds) > _MOST_KINDS:
        raise ValueError(
            f"the trace has {len(kinds)} kinds of queries (model, priority and timeout);"
            f" the most are {_MOST_KINDS}"
        )
    return tuple(kinds), rows


def make_plan(
    models: Sequence[AskedModel],
    load: LoadgenParams,
    process: ArrivalProcess | None,
    seed: int,
) -> QueryPlan:
    """Draw the queries of a run.

    Parameters
    ----------
    models : sequence of AskedModel
    load : LoadgenParams
        How long it lasts.
    process : ArrivalProcess or None
        Of an open loop.
    seed : int
        Times and models are drawn by a stream each.
    """
    kinds, of_rows = kinds_of(models, process)
    times, draws = (np.random.default_rng([seed, stream]) for stream in (0, 1))
    if process is None:
        return QueryPlan(kinds, _drawn(kinds, _CYCLE, draws), np.zeros(0, np.int64))
    offsets_ns = planned(process.offsets_ns(times), load)
    kind = _drawn(kinds, len(offsets_ns), draws) if of_rows is None else of_rows[: len(offsets_ns)]
    return QueryPlan(kinds, kind, offsets_ns)


def planned(offsets_ns: Iterable[int], load: LoadgenParams) -> NDArray[np.int64]:
    """The intended send times of a load of that length, array of shape ``(queries,)``."""
    return np.fromiter(_kept(offsets_ns, load), np.int64)


def _kept(offsets_ns: Iterable[int], load: LoadgenParams) -> Iterator[int]:
    measured = 0
    for offset_ns in offsets_ns:
        if load.is_over(offset_ns - load.warmup_ns, measured):
            return
        yield offset_ns
        measured += offset_ns >= load.warmup_ns


def _drawn(
    kinds: Sequence[AskedModel], count: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    weights = np.array([kind.weight for kind in kinds])
    if len(kinds) == 1:
        return np.zeros(max(1, count), np.int64)
    return generator.choice(len(kinds), max(1, count), p=weights / weights.sum())


def _labelled(
    label: TraceLabel,
    known: dict[str, AskedModel],
    models: Sequence[AskedModel],
) -> AskedModel:
    name, priority, timeout_ns = label
    if not name and len(models) > 1:
        raise ValueError("the trace has queries without a model, and several are asked")
    model = known.get(name) if name else models[0]
    if model is None:
        raise ValueError(f"the trace asks model {name!r}; there are: {', '.join(known)}")
    timeout_s = model.timeout_s if timeout_ns is None else timeout_ns / NS_PER_S
    return replace(
        model, priority=model.priority if priority is None else priority, timeout_s=timeout_s
    )
