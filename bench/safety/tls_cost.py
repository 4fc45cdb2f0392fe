"""``python -m bench tls_cost``: what TLS costs a query, ours and bare grpc.aio's.

gRPC's Python client asks each server in turns, so that their rates are as much the client's: what
the server itself computes for a query says what TLS costs it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import trustme

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.infrastructure.process_tree import tree_cpu_s
from bench.serving.payloads import Payload, floats_16, kilobytes_600
from surplus.loadgen.clients.grpc_client import GrpcClient
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams, run_closed_loop
from surplus.loadgen.errors import TargetError
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Recorder
from surplus.loadgen.stats import summarise
from surplus.loadgen.transport import TlsParams

_CLIENTS = (1, 16)


class Served:
    """A server of both payloads, over TLS or not."""

    def __init__(self, name: str, folder: Path, payloads: Sequence[Payload]) -> None:
        self._port = free_port()
        kind, _, encrypted = name.partition(", ")
        self._tls = TlsParams(str(folder / "ca")) if encrypted else None
        start = {"surplus": self._ours, "grpc.aio": self._bare}[kind]
        self._process = start(folder, payloads)

    def _ours(self, folder: Path, payloads: Sequence[Payload]) -> subprocess.Popen[bytes]:
        repository = folder / "models"
        for payload in payloads:
            version = repository / payload.name / "1"
            version.mkdir(parents=True, exist_ok=True)
            if not (version / "model.onnx").exists():
                (version / "model.onnx").symlink_to(payload.file)
        options = ["--port", str(self._port), "--cache", str(FOLDER / "cache")]
        if self._tls is not None:
            options += ["--tls-cert", str(folder / "certificate"), "--tls-key", str(folder / "key")]
        command = [sys.executable, "-m", "surplus.engine.cli.main", "serve", str(repository)]
        return subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)

    def _bare(self, folder: Path, payloads: Sequence[Payload]) -> subprocess.Popen[bytes]:
        served = [f"{payload.name}={payload.file}" for payload in payloads]
        command = [sys.executable, "-m", "bench.serving.grpc_aio_server", str(self._port), *served]
        environment = dict(os.environ)
        if self._tls is not None:
            environment["SERVED_CERTIFICATE"] = str(folder / "certificate")
            environment["SERVED_KEY"] = str(folder / "key")
        return subprocess.Popen(command, env=environment)

    def end(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def turn(self, payload: Payload, users: int, seconds: float) -> tuple[float, int, float]:
        """Queries a second, their median latency in ns, and the server's CPU seconds a query."""
        return asyncio.run(self._turn(payload, users, seconds))

    async def _turn(self, payload: Payload, users: int, seconds: float) -> tuple[float, int, float]:
        load = LoadgenParams(round(seconds * 1e9), 0, round(seconds * 2e8))
        async with GrpcClient(f"localhost:{self._port}", payload.name, tls=self._tls) as client:
            client.prepare([[from_array(name, array) for name, array in payload.inputs.items()]])
            await self._answers(client)
            recorder = Recorder()
            used_s = tree_cpu_s(self._process.pid)
            await run_closed_loop(client, ClosedLoopParams(load, users), recorder, MonotonicClock())
            used_s = tree_cpu_s(self._process.pid) - used_s
        records = recorder.records()
        summary = summarise(records, False)
        assert summary.latency is not None, summary.errors
        return summary.throughput_per_s, summary.latency.p50_ns, used_s / len(records)

    async def _answers(self, client: GrpcClient) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                await client.send(0)
                return
            except Exception:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise TargetError("the server does not answer") from None
                await asyncio.sleep(0.1)


def _row(
    payload: Payload, users: int, server: str, turns: Sequence[tuple[float, int, float]]
) -> dict[str, Any]:
    per_s, p50_ns, cpu_s = map(statistics.median, zip(*turns, strict=True))
    return {
        "payload": payload.name,
        "clients": users,
        "server": server,
        "per s": round(per_s),
        "p50 us": round(p50_ns / 1e3),
        "server CPU us a query": round(cpu_s * 1e6),
    }


_SERVERS = ("surplus", "surplus, TLS", "grpc.aio", "grpc.aio, TLS")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench tls_cost")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-s", type=float, default=2.0)
    args = parser.parse_args(arguments)
    payloads = (floats_16(), kilobytes_600())
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as made, ExitStack() as stack:
        folder = Path(made)
        authority = trustme.CA()
        shown = authority.issue_cert("localhost")
        authority.cert_pem.write_to_path(folder / "ca")
        shown.private_key_pem.write_to_path(folder / "key")
        shown.cert_chain_pems[0].write_to_path(folder / "certificate")
        there = {server: Served(server, folder, payloads) for server in _SERVERS}
        for one in there.values():
            stack.callback(one.end)
        for payload in payloads:
            for users in _CLIENTS:
                turns: dict[str, list[tuple[float, int, float]]] = {server: [] for server in there}
                for _ in range(args.rounds):
                    for server, one in there.items():
                        turns[server].append(one.turn(payload, users, args.turn_s))
                rows += [_row(payload, users, server, found) for server, found in turns.items()]
    result_file.show("tls_cost", rows)


if __name__ == "__main__":
    main()
