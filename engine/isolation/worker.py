"""A worker: loads models and answers the queries that the server sends on, until it is let go.

It is a server whose only client is the server (``_core.Frontend`` with ``server``): plain queries
are answered by the core, what is not plain by the same handlers as there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import resource
import signal
import socket
import struct
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from surplus.engine.errors import EngineError, one_line
from surplus.engine.isolation.reports import ModelReport, Told, WorkerSpec, line_of, spec_of
from surplus.engine.repository.layout import RepositoryEntry
from surplus.engine.serving.json_log import log_as_json
from surplus.engine.serving.loads import Loads
from surplus.engine.serving.metrics.machine_samples import lane_samples
from surplus.engine.serving.servable import Servable
from surplus.engine.serving.served_model import ServedModel
from surplus.engine.serving.worker_server import WorkerServer

LENGTH = struct.Struct("<Q")
"""Before what it is to run."""

_LOOK_S = 0.2


def main(control: int, line: int, requests: int, answers: int) -> NoReturn:
    """Run in a fork, and never return.

    Parameters
    ----------
    control : int
        A socket to the server: what it is to run comes first, reports go back.
    line, requests, answers : int
        Of a ``_core.WorkerLink``.
    """
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # to write one takes seconds
        os.setpgid(0, 0)  # signals of the terminal are the server's
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with socket.socket(fileno=control) as told:
            spec: WorkerSpec = pickle.loads(_received(told))
            if spec.logs_json:
                logging.basicConfig(level=logging.WARNING)
                log_as_json()
            asyncio.run(_run(told, spec, (line, requests, answers)))
        status = 0
    finally:
        os._exit(status)


def _received(told: socket.socket) -> bytes:
    size = LENGTH.unpack(told.recv(LENGTH.size, socket.MSG_WAITALL))[0]
    return told.recv(size, socket.MSG_WAITALL)


async def _run(told: socket.socket, spec: WorkerSpec, ends: tuple[int, int, int]) -> None:
    reader, writer = await asyncio.open_connection(sock=told)
    server = WorkerServer(spec.max_in_flight, spec.max_message_bytes, ends)
    for descriptor in ends[1:]:
        os.close(descriptor)
    if spec.memory_limit_bytes:
        server.limit_memory(spec.memory_limit_bytes)
    models = {entry: server.add(entry.name, entry.version) for entry in spec.entries}
    reporting = asyncio.create_task(_report(writer, models, spec))
    while line := await reader.readline():
        server.others_bytes = msgspec.json.decode(line, type=Told).others_bytes
    reporting.cancel()


async def _report(
    writer: asyncio.StreamWriter,
    models: Mapping[RepositoryEntry, ServedModel],
    spec: WorkerSpec,
) -> None:
    """Load, and say what has changed, until cancelled."""
    errors: dict[RepositoryEntry, str] = {}

    async def load(entry: RepositoryEntry, future: asyncio.Future[Servable]) -> None:
        try:
            models[entry].set_ready(await future)
        except EngineError as error:
            errors[entry] = one_line(error)
            models[entry].set_unavailable(errors[entry])

    with Loads(spec.entries, spec.params, lazy=spec.lazy) as futures:
        loading = [
            asyncio.create_task(load(entry, asyncio.wrap_future(future)))
            for entry, future in zip(spec.entries, futures, strict=True)
        ]
        said: dict[RepositoryEntry, ModelReport] = {}
        while True:
            for entry, model in models.items():
                says_lanes = entry is spec.entries[0]
                report = _reported(entry, model, errors.get(entry, ""), says_lanes=says_lanes)
                if report is not None and said.get(entry) != report:
                    said[entry] = report
                    writer.write(line_of(report))
            await writer.drain()
            left = [task for task in loading if not task.done()]
            if left:
                await asyncio.wait(left, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(_LOOK_S)


def _reported(
    entry: RepositoryEntry, model: ServedModel, error: str, *, says_lanes: bool
) -> ModelReport | None:
    """None while it is loading."""
    if error:
        return ModelReport(entry.name, entry.version, error)
    executor = model.loaded
    if executor is None:
        return None
    return ModelReport(
        entry.name,
        entry.version,
        inputs=tuple(map(spec_of, executor.inputs)),
        outputs=tuple(map(spec_of, executor.outputs)),
        warning=executor.warning,
        held=executor.held,
        facts=dict(executor.facts),
        failure=executor.failure,
        joined=executor.joined,
        batches=dict(executor.batches),
        lanes=tuple(lane_samples()) if says_lanes else (),
        config=model.config.message.SerializeToString(deterministic=True),
    )
