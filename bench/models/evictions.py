"""``python -m bench evictions``: 1,000 models on disk, a budget of memory for 50 of them.

Perceptrons of 1 MB (``bench/models/many_models.py``) in one ``engine serve --model-memory``. First
each is asked once, so that its plan is stored and what it takes is known; then two clients ask by
Zipf's law, the most popular model some 130 times as often as the hundredth. A query's load is told
by the server (``last_load_ms``); a first answer is timed by the client, of models that rest.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as triton

from bench.infrastructure import result_file
from bench.infrastructure.ports import free_port
from bench.infrastructure.process_tree import tree_bytes
from bench.models.many_models import SIZE, build
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess
from surplus.engine.devices.machine_memory import resident_bytes

MODELS = 1000
ROOM = 50
QUERIES = 5000
CLIENTS = 2
_FIRST_ANSWERS = 100
_LOOK_S = 0.05
_SKEW = 1.05
"""Exponent of Zipf's law."""

_MIB = 2**20


@dataclass
class Clients:
    """What all of them have seen."""

    port: int
    warm_s: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def ask(self, names: list[str]) -> None:
        """One query after the other, of a connection; in a thread."""
        with triton.InferenceServerClient(f"127.0.0.1:{self.port}") as client:
            for name in names:
                try:
                    self.warm_s.append(asked_s(client, name))
                except triton.InferenceServerException as error:
                    self.failed.append(str(error))


def asked_s(client: triton.InferenceServerClient, name: str) -> float:
    """Seconds of one query."""
    value = triton.InferInput("x", [1, SIZE], "FP32")
    value.set_data_from_numpy(np.ones((1, SIZE), np.float32))
    began = time.perf_counter()
    client.infer(name, [value])
    return time.perf_counter() - began


def told(client: triton.InferenceServerClient, name: str) -> dict[str, float]:
    """What the server says of a model's loads."""
    parameters = client.get_model_config(name).config.parameters
    keys = ("memory_bytes", "last_load_ms", "loads", "rests")
    return {key: float(parameters[key].string_value or 0) for key in keys if key in parameters}


class Watch:
    """The most that a process was seen to hold."""

    def __init__(self, pid: int) -> None:
        self.most_bytes = 0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_S):
            self.most_bytes = max(self.most_bytes, resident_bytes(self._pid))


def started(folder: Path, count: int, budget_bytes: int) -> tuple[ServerProcess, float]:
    """The server, and the seconds until it was ready."""
    repository = folder / "repository"
    for index in range(count):
        version = repository / f"m{index:03}" / "1"
        if not version.exists():
            version.mkdir(parents=True)
            shutil.copy(build(index), version / "model.onnx")
    port = free_port()
    payload = Payload("m000", build(0), {"x": np.ones((1, SIZE), np.float32)})
    command: list[str | Path] = [
        Path(sys.executable).with_name("engine"),
        *("serve", repository, "--cache", folder / "cache"),
        *("--model-memory", str(budget_bytes), "--port", str(port)),
    ]
    began = time.perf_counter()
    server = ServerProcess(command, {"grpc": port}, {"m000": payload}, folder / "log")
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        while not client.is_server_ready():  # each model's file is checked first
            time.sleep(_LOOK_S)
    return server, time.perf_counter() - began


def one_bytes(folder: Path, count: int) -> int:
    """What one model takes: the median of those that are asked first, as the server tells it."""
    server, _ = started(folder, count, 1 << 34)
    try:
        with triton.InferenceServerClient(f"127.0.0.1:{server.port('grpc')}") as client:
            names = [f"m{index:03}" for index in range(count)]
            for name in names:
                asked_s(client, name)
            return int(statistics.median(told(client, name)["memory_bytes"] for name in names))
    finally:
        server.end()


def first_answers(port: int, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of queries of models that rest, and of their loads as the server tells."""
    took_ms, loads_ms = [], []
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        names = [f"m{index:03}" for index in range(count)]
        resting = [name for name in names if not told(client, name).get("memory_bytes")]
        for name in resting[:_FIRST_ANSWERS]:
            took_ms.append(asked_s(client, name) * 1e3)
            loads_ms.append(told(client, name)["last_load_ms"])
    return took_ms, loads_ms


def measured(count: int, room: int, queries: int) -> dict[str, Any]:
    """The row of the table."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, count + 1) ** _SKEW
    picks = rng.choice(count, (CLIENTS, queries // CLIENTS), p=popularity / popularity.sum())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        each_bytes = one_bytes(folder, count)
        server, ready_s = started(folder, count, room * each_bytes)
        try:
            port, at_rest = server.port("grpc"), resident_bytes(server.pid)
            clients = Clients(port)
            threads = [
                threading.Thread(target=clients.ask, args=([f"m{i:03}" for i in picked],))
                for picked in picks
            ]
            with Watch(server.pid) as watch:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                took_ms, loads_ms = first_answers(port, count)
            with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
                loads = sum(told(client, f"m{i:03}").get("loads", 0) for i in range(count))
            parts = tree_bytes(server.pid)
        finally:
            server.end()
    for message, times in Counter(clients.failed).most_common(5):
        print(f"{times} failed: {message}", file=sys.stderr)
    return {
        "models": count,
        "room": room,
        "ready_s": ready_s,
        "queries": len(clients.warm_s) + len(took_ms),
        "failed": len(clients.failed),
        "loads": int(loads),
        "p50_ms": statistics.median(clients.warm_s) * 1e3,
        "first_answer_p50_ms": statistics.median(took_ms),
        "first_answer_longest_ms": max(took_ms),
        "told_load_p50_ms": statistics.median(loads_ms),
        "one_model_mib": each_bytes / _MIB,
        "at_rest_mib": at_rest / _MIB,
        "most_mib": watch.most_bytes / _MIB,
        "above_rest_of_budget": (watch.most_bytes - at_rest) / (room * each_bytes),
        "at_the_end_mib": parts / _MIB,
    }


def main() -> None:
    """Measure, show, and store what was measured in full."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=MODELS)
    parser.add_argument("--room", type=int, default=ROOM)
    parser.add_argument("--queries", type=int, default=QUERIES)
    args = parser.parse_args()
    rows = [measured(args.models, args.room, args.queries)]
    result_file.show("evictions", rows)
    if (args.models, args.room, args.queries) == (MODELS, ROOM, QUERIES):
        result_file.write("evictions", {"clients": CLIENTS, "zipf": _SKEW}, rows)


if __name__ == "__main__":
    main()
