"""A worker as its server sees it: started, heard, and started again when it has ended."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
from collections.abc import Callable, Mapping

import msgspec

from surplus.engine import _core
from surplus.engine.errors import ConfigError, UnavailableError
from surplus.engine.isolation.isolated_model import IsolatedModel
from surplus.engine.isolation.nursery import Nursery
from surplus.engine.isolation.reports import ModelReport, Told, WorkerSpec, line_of
from surplus.engine.isolation.worker import LENGTH
from surplus.engine.isolation.worker_queries import WorkerQueries
from surplus.engine.repository.model_config import unwritten
from surplus.engine.serving.metrics.lane_sample import LaneSample
from surplus.engine.serving.metrics.worker_sample import WorkerSample
from surplus.engine.serving.say import say
from surplus.engine.serving.served_model import ServedModel

LINK_BYTES = 4 << 30
"""Of requests in flight, and of answers: addresses, not memory."""

_LINE_BYTES = 1 << 20
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.05, 30.0
"""Before a worker that ended is started again: twice as long where it ended while it loaded."""

Models = Mapping[tuple[str, str], ServedModel]


class WorkerProcess:
    """Runs some models in a process of their own, for as long as :meth:`run` does.

    Parameters
    ----------
    name : str
        What the log calls it.
    models : mapping of (str, str) to ServedModel
        What clients see of them, by name and version.
    pumps : Callable
        Whether nobody else reads the worker's answers; asked when it is started.

    Attributes
    ----------
    pid : int
        The process; 0 while there is none.
    first : asyncio.Future
        Done once each model was loaded, or could not be.
    """

    def __init__(
        self,
        name: str,
        spec: WorkerSpec,
        models: Models,
        nursery: Nursery,
        pumps: Callable[[], bool],
    ) -> None:
        self._name = name
        self._spec = spec
        self._models = models
        self._configs = {
            (entry.name, entry.version): entry.config or unwritten(entry.name)
            for entry in spec.entries
        }
        self._nursery = nursery
        self._pumps = pumps
        self._writer: asyncio.StreamWriter | None = None
        self.pid = 0
        self._starts = 0
        self._lanes: tuple[LaneSample, ...] = ()
        self.first: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Start it, and again whenever it ends, until cancelled."""
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                was_loaded = await self._life()
            except (UnavailableError, OSError, RuntimeError) as error:  # no descriptor is left, say
                was_loaded = False
                self._be_unavailable(f"no process can be started for it: {error}")
            self._be_heard()
            wait_s = _FIRST_WAIT_S if was_loaded else min(2 * wait_s, _LONGEST_WAIT_S)
            await asyncio.sleep(wait_s)

    def sample(self) -> WorkerSample:
        """What it is now."""
        return WorkerSample(self._name, self.pid, self._starts, self._lanes)

    def tell_others(self, others_bytes: int) -> None:
        """Say how much memory the server and its other workers hold."""
        if self._writer is not None:
            self._writer.write(line_of(Told(others_bytes)))

    async def _life(self) -> bool:
        """From its start to its end; whether a model of it was ready."""
        link = _core.WorkerLink(LINK_BYTES)
        ours, theirs = socket.socketpair()
        ends = (theirs.detach(), *link.take_ends())
        try:
            self.pid = await self._nursery.fork(ends)
            self._starts += 1
        except BaseException:
            ours.close()
            raise
        finally:
            for descriptor in ends:
                os.close(descriptor)
        queries = WorkerQueries(link, pumps=self._pumps())
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=_LINE_BYTES)
        said = pickle.dumps(self._spec)
        self._writer.write(LENGTH.pack(len(said)) + said)
        loaded: dict[tuple[str, str], IsolatedModel] = {}
        try:
            unwanted = await self._hear(reader, link, queries, loaded)
            if unwanted:
                say(unwanted)
                os.kill(self.pid, signal.SIGKILL)  # nobody else waits for it: it is the same one
        finally:
            self._writer.close()
            self._writer = None
            pid, self.pid = self.pid, 0
            queries.close()
        how = await self._nursery.end_of(pid)
        say(f"{self._name}: its process {pid} {how}; it is started again")
        self._be_unavailable(f"its process {how}; it is being started again")
        return bool(loaded)

    async def _hear(
        self,
        reader: asyncio.StreamReader,
        link: _core.WorkerLink,
        queries: WorkerQueries,
        loaded: dict[tuple[str, str], IsolatedModel],
    ) -> str:
        """Until it ends, or is to be ended: why, or nothing where it did so itself."""
        heard = set()
        while line := await _line_of(reader):
            try:
                report = msgspec.json.decode(line, type=ModelReport)
            except msgspec.MsgspecError as error:
                return f"{self._name}: its process says what is no report: {error}"
            key = report.name, report.version
            model = self._models.get(key)
            if model is None:
                continue
            heard.add(key)
            self._lanes = report.lanes or self._lanes
            if report.error:
                say(f"{report.name}: {report.error}")
                model.set_unavailable(report.error)
            elif report.failure or report.held:
                return f"{report.name}: {report.failure or report.held}"
            elif key in loaded:
                loaded[key].tell(report)
            else:
                try:
                    config = self._configs[key]
                    loaded[key] = IsolatedModel(report, config, link, queries, self.pid)
                except ConfigError as error:
                    return f"{self._name}: {error}"
                model.set_ready(loaded[key])
                say(f"{report.name}: in process {self.pid}")
            if len(heard) == len(self._models):
                self._be_heard()
        return ""

    def _be_heard(self) -> None:
        if not self.first.done():
            self.first.set_result(None)

    def _be_unavailable(self, why: str) -> None:
        for model in self._models.values():
            model.set_unavailable(why)


async def _line_of(reader: asyncio.StreamReader) -> bytes:
    """The next line; nothing where there is none, or it is longer than any."""
    try:
        return await reader.readline()
    except (ValueError, ConnectionError):
        return b""
