"""The workers of a server: who runs which models, and what all of them hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.errors import ConfigError
from surplus.engine.isolation.nursery import Nursery
from surplus.engine.isolation.reports import WorkerSpec
from surplus.engine.isolation.worker_process import WorkerProcess
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.serving.json_log import json_handlers
from surplus.engine.serving.life import Served
from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams

_LOOK_S = 0.25


@dataclass(frozen=True)
class Loading:
    """How a server's models are loaded.

    Parameters
    ----------
    params : mapping of str to LoadParams
        By the models' names.
    lazy : bool
        Whether by their first query.
    """

    params: Mapping[str, LoadParams]
    lazy: bool


class Workers:
    """Runs a server's models in processes. On the server's event loop, until that ends.

    Parameters
    ----------
    groups : mapping of str to sequence of str
        Names of models that share a process, by the group's; the others have one each.
    """

    def __init__(
        self,
        params: ServerParams,
        groups: Mapping[str, Sequence[str]],
        loading: Loading,
        nursery: Nursery,
    ) -> None:
        self._params = params
        self._groups = groups
        self._loading = loading
        self._nursery = nursery
        self._processes: list[WorkerProcess] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def make_ready(self, server: AsyncServer, served: Sequence[Served]) -> Sequence[Served]:
        """Start them, and wait until each model was loaded, or could not be.

        Raises
        ------
        ConfigError
            If none could be loaded.
        """
        for name, group in self._grouped(served).items():
            self._processes.append(self._process(server, name, group))
        for process in self._processes:
            self._tasks.append(asyncio.create_task(process.run()))
        server.measure_with(self.resident_bytes)
        server.plane.workers = lambda: [process.sample() for process in self._processes]
        self._tasks.append(asyncio.create_task(self._tell()))
        await asyncio.gather(*(process.first for process in self._processes))
        ready = [pair for pair in served if pair[1].loaded is not None]
        if not ready:
            raise ConfigError("; ".join(f"{entry.name}: {m.reason}" for entry, m in served))
        return ready

    def resident_bytes(self) -> int:
        """What the workers hold of the machine's memory."""
        return sum(resident_bytes(process.pid) for process in self._processes if process.pid)

    def _grouped(self, served: Sequence[Served]) -> dict[str, list[Served]]:
        group_of = {model: name for name, models in self._groups.items() for model in models}
        grouped: dict[str, list[Served]] = {}
        for entry, model in served:
            grouped.setdefault(group_of.get(entry.name, entry.name), []).append((entry, model))
        return grouped

    def _process(self, server: AsyncServer, name: str, group: Sequence[Served]) -> WorkerProcess:
        entries = tuple(entry for entry, _ in group)
        spec = WorkerSpec(
            entries,
            {entry.name: self._loading.params[entry.name] for entry in entries},
            self._loading.lazy,
            self._params.memory_limit_bytes,
            self._params.max_message_bytes,
            self._params.max_in_flight,
            bool(json_handlers()),
        )
        models = {(entry.name, entry.version): model for entry, model in group}
        return WorkerProcess(name, spec, models, self._nursery, lambda: server.plane.front is None)

    async def _tell(self) -> None:
        """Tell each what the others hold, again and again: all keep to one limit."""
        while True:
            held = {process: resident_bytes(process.pid) for process in self._processes}
            whole = resident_bytes() + sum(held.values())
            for process, own in held.items():
                process.tell_others(whole - own)
            await asyncio.sleep(_LOOK_S)
