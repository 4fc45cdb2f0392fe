"""Models that share a budget of memory: those asked least recently make room, and come back.

A model rests until a query asks for it: it is known, and ready, but takes no memory. The query
loads it and is answered then; the models that were asked least recently rest in its place, if they
have no query in flight. On the server's event loop; loads run in a thread, one after the other, so
that what each takes can be measured.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.errors import EngineError, MemoryLimitError, one_line
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.former_models import FormerModels
from surplus.engine.serving.model_table import ModelTable
from surplus.engine.serving.resting import Resting, entry_bytes
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.served_model import ServedModel

_log = logging.getLogger(__name__)

ROOM_S = 10.0
"""How long a query waits for room where every model has queries in flight."""

_LOOK_S = 0.005

_MIB = 1 << 20

LoadServable = Callable[[RepositoryEntry], Servable]


@dataclass
class _Awake:
    """A model that is loaded."""

    executor: Servable
    resting: Resting
    cost_bytes: int
    since_ns: int


class MemoryBudget:
    """Wakes models and puts them to rest.

    Parameters
    ----------
    limit_bytes : int
        What all models that are awake may take together.
    load : callable
        Loads a version; called in a thread.
    check : callable
        Reads and checks a version without loading it: a servable that is asked for no query.
    """

    def __init__(self, limit_bytes: int, load: LoadServable, check: LoadServable) -> None:
        self._limit_bytes = limit_bytes
        self._load = load
        self._check = check
        self._thread = ThreadPoolExecutor(1, "surplus wake")
        self._waking = asyncio.Lock()
        self._awake: dict[ServedModel, _Awake] = {}
        self._tasks: dict[Resting, asyncio.Task[Servable]] = {}
        self._costs: dict[RepositoryEntry, int] = {}
        self._former = FormerModels()
        self._models = ModelTable()

    def begin(self, models: ModelTable) -> None:
        """Of this server."""
        self._models = models

    def resting(self, entry: RepositoryEntry) -> Resting:
        """A version that its next query wakes; reads and checks its file. In any thread.

        Raises
        ------
        EngineError
            If it is none that can be served, or larger than the budget by itself.
        """
        self._require_fitting(entry, entry_bytes(entry))
        return Resting(entry, self._check(entry), self.wake)

    @property
    def used_bytes(self) -> int:
        """What the models that are awake take."""
        self._forget_replaced()
        return sum(awake.cost_bytes for awake in self._awake.values())

    async def wake(self, resting: Resting) -> Servable:
        """What answers the model's queries from now on; loads it if nobody has meanwhile.

        Raises
        ------
        MemoryLimitError
            If there is no room for it, within 10 s.
        EngineError
            If it cannot be loaded; the next query tries again.
        """
        task = self._tasks.get(resting)
        if task is None:
            task = self._tasks[resting] = asyncio.create_task(self._wake(resting))
            task.add_done_callback(lambda done: self._end(resting, done))
        return await asyncio.shield(task)  # whoever asked may go away, and the next one finds it

    async def _wake(self, resting: Resting) -> Servable:
        model = self._models.find(resting.entry.name, resting.entry.version)
        async with self._waking:
            self._forget_replaced()
            if model in self._awake:
                return self._awake[model].executor
            return await self._woken(model, resting)

    def _end(self, resting: Resting, done: asyncio.Task[Servable]) -> None:
        del self._tasks[resting]
        if not done.cancelled():
            done.exception()  # told to those who wait, if any still do

    async def close(self) -> None:
        """Wake no other."""
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._former.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _woken(self, model: ServedModel, resting: Resting) -> Servable:
        entry, began_ns = resting.entry, time.monotonic_ns()
        await self._make_room(self._costs.get(entry, entry_bytes(entry)), entry)
        loop = asyncio.get_running_loop()
        try:
            executor, cost_bytes = await loop.run_in_executor(self._thread, self._measured, entry)
        except EngineError as error:
            model.note = f"not loaded: {one_line(error)}"
            raise
        self._costs[entry] = cost_bytes
        if model.loaded is resting:  # else it has been replaced, and this is its last query
            self._awake[model] = _Awake(executor, resting, cost_bytes, time.monotonic_ns())
            model.set_ready(executor)
            self._former.watch(model)
        took_ms = (time.monotonic_ns() - began_ns) / 1e6
        resting.tell(model, cost_bytes, took_ms)
        self._fit(model)
        return executor

    def _measured(self, entry: RepositoryEntry) -> tuple[Servable, int]:
        """A version, and what the process holds for it, its file at least."""
        before = resident_bytes()
        executor = self._load(entry)
        return executor, max(resident_bytes() - before, entry_bytes(entry))

    async def _make_room(self, cost_bytes: int, entry: RepositoryEntry) -> None:
        """Put models to rest until so much is free."""
        self._require_fitting(entry, cost_bytes)
        until_s = time.monotonic() + ROOM_S
        while self.used_bytes + cost_bytes > self._limit_bytes:
            if self._rest_one():
                continue
            if time.monotonic() > until_s:
                raise MemoryLimitError(
                    f"model {entry.name!r}: no room for {cost_bytes / _MIB:.1f} MiB in"
                    f" --model-memory: every other model has had queries for {ROOM_S:g} s"
                )
            await asyncio.sleep(_LOOK_S)

    def _fit(self, newest: ServedModel) -> None:
        """Where a model has turned out to be larger than was thought, others rest for it."""
        while self.used_bytes > self._limit_bytes and self._rest_one(newest):
            pass

    def _rest_one(self, but: ServedModel | None = None) -> bool:
        """Put the model to rest that was asked least recently, if one is idle."""
        idle = [model for model in self._awake if model is not but and not model.in_flight]
        if not idle:
            return False
        model = min(idle, key=self._used_ns)
        awake = self._awake.pop(model)
        awake.resting.rested(model)
        model.set_ready(awake.resting)
        self._former.watch(model)
        _log.info("%s rests: %.1f MiB are free for others", model, awake.cost_bytes / _MIB)
        return True

    def _used_ns(self, model: ServedModel) -> int:
        return max(model.statistics.last_ns, self._awake[model].since_ns)

    def _forget_replaced(self) -> None:
        """Of models that were loaded anew or unloaded: what they had is closed by others."""
        gone = [model for model, awake in self._awake.items() if model.loaded is not awake.executor]
        for model in gone:
            del self._awake[model]

    def _require_fitting(self, entry: RepositoryEntry, cost_bytes: int) -> None:
        if cost_bytes > self._limit_bytes:
            raise MemoryLimitError(
                f"model {entry.name!r} takes {cost_bytes / _MIB:.1f} MiB, more than --model-memory,"
                f" {self._limit_bytes / _MIB:.1f} MiB"
            )
