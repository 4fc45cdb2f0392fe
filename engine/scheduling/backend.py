"""Computes groups on the core: the live counterpart of a simulated device.

A piece is a run of the core's plan of its groups; it is submitted from the controller's thread and
its end comes through the core's completion queue. Tensors between two pieces of the same queries
are kept. Queries that go on in another company than they began in are computed anew from the start
of the model: correct, only slower.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.service import Partition
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.live.executor import Ended
from surplus.engine import _core
from surplus.engine.errors import ConfigError, EngineError
from surplus.engine.scheduling.live_model import LiveModel
from surplus.engine.scheduling.parts import Part
from surplus.engine.scheduling.place import HOST, Place
from surplus.engine.scheduling.pressure_monitor import PressureMonitor
from surplus.engine.scheduling.stacking import Arrays, apart, stacked
from surplus.engine.scheduling.steps import Job, RestingQueries, RunStep, Slot, StartedRun, Values

Inputs = Callable[[Query], Arrays]
Answer = Callable[[Query, dict[str, Any]], None]


_NS_PER_S = 1e9


class EngineBackend:
    """Groups on the devices of a machine; a ``surplus.colocation.live.executor.Backend``.

    Parameters
    ----------
    models : sequence of LiveModel
        By service.
    devices : sequence of Place
        By device of the scenario, with all its lanes.
    inputs : callable
        Inputs of a query by name.
    answer : callable, optional
        Told the outputs of each query, once it is computed.
    monitor : PressureMonitor, optional
        Of the machine's pressure, which begins to look when it is first asked; default: this one's.
    """

    def __init__(
        self,
        models: Sequence[LiveModel],
        devices: Sequence[Place],
        inputs: Inputs,
        answer: Answer | None = None,
        monitor: PressureMonitor | None = None,
    ) -> None:
        self.completions = _core.CompletionQueue()
        self.models = models
        self._devices = devices
        self._inputs = inputs
        self._answer = answer
        self._slots: list[Slot] = []
        self._runs: dict[int, StartedRun] = {}
        self._kept: dict[int, RestingQueries] = {}
        self._abandoned: set[int] = set()
        self._ended: list[Ended] = []
        self._tags = 0
        self._monitor = monitor or PressureMonitor()

    def prepare(self, partitions: Sequence[Partition]) -> None:
        """Know these partitions.

        Raises
        ------
        ConfigError
            If a share of a CPU is no whole number of lanes.
        """
        self._slots = [self._slot(partition) for partition in partitions]

    def pressure(self) -> float | None:
        """How hard other work presses on the machine; None if that tells nothing."""
        return self._monitor.pressure()

    def start(self, group: Group) -> None:
        """Submit a group; what cannot be submitted has failed."""
        job = Job(group, self._all_steps(group))
        self._advance(job)

    def wait(self, timeout_ns: int | None) -> list[Ended]:
        """Ends since the last call; with a timeout perhaps none, though it has not passed."""
        timeout_s = None if timeout_ns is None else timeout_ns / _NS_PER_S
        self._collect()
        while not self._ended:
            ready, _, _ = select.select([self.completions.fd], [], [], timeout_s)
            self._collect()
            if timeout_ns is not None or not (ready or self._runs):
                break
        return self._taken()

    def ends(self) -> list[Ended]:
        """Ends since the last call; never waits."""
        self._collect()
        return self._taken()

    @property
    def is_emulated(self) -> bool:
        """Whether times are charged, not spent."""
        return all(place.spec.traits.is_emulated for place in self._devices)

    @property
    def has_ended(self) -> bool:
        """Whether ends are known that nobody has taken."""
        return bool(self._ended)

    def abandon(self, query: Query) -> None:
        """Compute nothing more for a query, unless others need it for their batch."""
        self._abandoned.add(query.id)

    def _taken(self) -> list[Ended]:
        ended, self._ended = self._ended, []
        return ended

    def _collect(self) -> None:
        """Take what the core has finished."""
        for run in self.completions.drain():
            started = self._runs.pop(run.tag)
            started.job.running -= 1
            try:
                self._finished(run, started)
            except (EngineError, ValueError, RuntimeError) as error:
                started.job.error = str(error)
            self._advance(started.job)

    def forget(self, query: Query) -> None:
        """Free what is kept for a query that will not go on."""
        self._kept.pop(query.id, None)
        self._abandoned.discard(query.id)

    def _slot(self, partition: Partition) -> Slot:
        whole = self._devices[partition.device]
        lanes = round(partition.share_percent * whole.spec.lanes / 100)
        off = abs(partition.share_percent * whole.spec.lanes - 100 * lanes)
        if whole.spec.traits.is_host and (lanes < 1 or off >= whole.spec.lanes):
            text = f"{partition.share_percent} % of {whole.spec.lanes} lanes are no whole lanes"
            raise ConfigError(f"device {whole.spec.name!r}: {text}")
        if whole.by_share:
            spec = replace(whole.spec, share_percent=partition.share_percent)
            return Slot(whole.machine, replace(whole, spec=spec), 1)
        return Slot(whole.machine, whole, max(1, lanes), partition.cores)

    def _all_steps(self, group: Group) -> list[RunStep]:
        return [step for piece in group.pieces for step in self._steps(piece, group.version)]

    def _steps(self, piece: Piece, version: int) -> list[RunStep]:
        model = self.models[piece.service]
        together = self._alike(piece) if model.stackable else [(q,) for q in piece.queries]
        return [
            RunStep(model, queries, piece.start, piece.end, min(version, model.versions - 1))
            for queries in together
            if not self._abandoned.issuperset(query.id for query in queries)
        ]

    def _alike(self, piece: Piece) -> list[tuple[Query, ...]]:
        """Queries that can be stacked: their inputs differ in their rows only."""
        if len(piece.queries) == 1:
            return [piece.queries]
        alike: dict[tuple[object, ...], list[Query]] = {}
        for query in piece.queries:
            key = tuple(np.shape(array)[1:] for array in self._inputs(query).values())
            alike.setdefault(key, []).append(query)
        return [tuple(queries) for queries in alike.values()]

    def _advance(self, job: Job) -> None:
        """Submit as much of a group as its partition has lanes for; book its end."""
        slot = self._slots[job.group.partition]
        lanes = slot.lanes_of(job.group)
        while job.waiting and job.running < lanes and not job.error:
            width = max(1, lanes // max(1, job.running + len(job.waiting)))
            step = job.waiting.pop(0)
            try:
                self._submit(job, step, slot, width)
            except (EngineError, ValueError, RuntimeError) as error:
                job.error = str(error)
        if job.running == 0:
            self._end(job)

    def _end(self, job: Job) -> None:
        if job.error:
            for query in (q for piece in job.group.pieces for q in piece.queries):
                self.forget(query)
        self._ended.append(Ended(job.group, job.error))

    def _submit(self, job: Job, step: RunStep, slot: Slot, width: int) -> None:
        is_cpu = slot.place.spec.traits.is_host
        place = replace(slot.place, width=width if is_cpu else 1)
        step, part, values = self._prepared(step, place)
        self._tags += 1
        self._runs[self._tags] = StartedRun(job, step, part, values)
        job.running += 1
        try:
            part.native.submit(
                [values[key] for key in part.reads],
                completions=self.completions,
                tag=self._tags,
            )
        except BaseException:
            del self._runs[self._tags]
            job.running -= 1
            raise

    def _prepared(self, step: RunStep, place: Place) -> tuple[RunStep, Part, Values]:
        """What a step runs and reads; one whose queries began otherwise starts again at 0.

        So does one that goes on on another device.
        """
        kept = self._kept.get(step.queries[0].id)
        company = tuple(query.id for query in step.queries)
        if step.start and kept is not None and (kept.company, kept.at) == (company, step.start):
            part = self._part(step, place)
            if kept.values.keys() >= set(part.reads):
                return step, part, kept.values
        step = step._replace(start=0)
        part = self._part(step, place)
        ports, memory = step.model.ports, place.devices[HOST].memory
        given = ports.values(stacked([self._inputs(query) for query in step.queries]))
        named = zip(ports.inputs, given, strict=True)
        return step, part, {(spec.name, memory): value for spec, value in named}

    def _part(self, step: RunStep, place: Place) -> Part:
        items = sum(query.items for query in step.queries)
        whole = step.model.parts.is_whole(step.start, step.end)
        charges = step.model.charges(place, items, whole=whole)
        return step.model.parts.part(step.start, step.end, place, charges, step.version)

    def _finished(self, run: _core.Run, started: StartedRun) -> None:
        step, part = started.step, started.part
        if run.status != "ok":
            raise EngineError(run.error or run.status)
        made = dict(zip(part.makes, run.outputs(), strict=True))
        values = {key: made[key] if key in made else started.values[key] for key in part.keeps}
        if step.end == step.model.operators:
            self._deliver(step, {name: value for (name, _), value in values.items()})
            return
        kept = RestingQueries(tuple(query.id for query in step.queries), step.end, values)
        for query in step.queries:
            self._kept[query.id] = kept

    def _deliver(self, step: RunStep, values: Mapping[str, _core.Value | None]) -> None:
        for query in step.queries:
            self.forget(query)
        if self._answer is None:
            return
        answer = step.model.ports.arrays(values)
        rows = apart(answer, [query.items for query in step.queries])
        for query, row in zip(step.queries, rows, strict=True):
            self._answer(query, row)
