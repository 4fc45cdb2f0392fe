"""``python -m bench reload``: 500 reloads and 500 unloads under load, failed queries and memory.

One server (``--model-control-mode explicit``) of three SqueezeNets. Two clients ask the first
without a pause, while its files are written anew and it is loaded again, the second is unloaded
and loaded, and the third is left alone. Memory is what the server holds after ten such rounds (all
that a load imports is there), after half of them and after the last, each at rest: what is lost by
a load grows in both halves, what lies between blocks of the heap in the first alone. ``--rounds``
asks for fewer.
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

import tritonclient.grpc as triton

from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from bench.infrastructure.ports import free_port
from bench.serving.loads import Asking, target_of
from bench.serving.payloads import Payload, squeezenet
from bench.serving.server_process import ServerProcess
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.rest_request import rest_request
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad
from surplus.loadgen.params import LoadgenParams

ROUNDS = 500
_FIRST = 10
_REST_S = 12.0
"""Memory that was used and is not any more goes back after five seconds (docs/how_to/limits.md)."""

_MIB = 2**20
_NAMES = ("replaced", "coming_and_going", "left_alone")


@dataclass
class Clients:
    """Two that ask one model, in turns of a second, until they are told to stop."""

    port: int
    payload: Payload
    results: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """In a thread."""
        once = ClosedLoopParams(LoadgenParams(min_duration_ns=NS_PER_S, min_count=1))
        load = Asking(self.payload.name, "grpc", 2)
        address = HostPort("127.0.0.1", self.port)
        while not self.stop.is_set():
            with target_of(address, load, self.payload, rest_request) as target:
                records = NativeLoad(target, once).run()
            for kind in records.kind:
                self.results[records.kinds[kind] if kind else "ok"] += 1


def started(folder: Path, payload: Payload) -> ServerProcess:
    """The server, with all three models loaded."""
    for name in _NAMES:
        version = folder / "repository" / name / "1"
        version.mkdir(parents=True)
        shutil.copy(payload.file, version / "model.onnx")
    command: list[str | Path] = [
        Path(sys.executable).with_name("engine"),
        *("serve", folder / "repository", "--cache", FOLDER / "cache"),
        *("--model-control-mode", "explicit", "--load-model", "*", "--port"),
    ]
    port = free_port()
    served = {name: Payload(name, payload.file, payload.inputs) for name in _NAMES}
    return ServerProcess([*command, str(port)], {"grpc": port}, served, folder / "log")


def rounds(server: ServerProcess, folder: Path, payload: Payload, count: int) -> list[float]:
    """Reload one model and unload and load another, so often; seconds of each reload."""
    took_s = []
    file = folder / "repository" / _NAMES[0] / "1" / "model.onnx"
    with triton.InferenceServerClient(f"127.0.0.1:{server.port('grpc')}") as client:
        for _ in range(count):
            beside = file.with_suffix(".part")
            shutil.copy(payload.file, beside)
            beside.replace(file)
            began = time.perf_counter()
            client.load_model(_NAMES[0])
            took_s.append(time.perf_counter() - began)
            client.unload_model(_NAMES[1])
            client.load_model(_NAMES[1])
    return took_s


def under_load(
    clients: Clients, server: ServerProcess, folder: Path, payload: Payload, count: int
) -> tuple[list[float], int]:
    """Seconds of so many reloads, and what the server holds once it has given back what it can."""
    clients.stop.clear()
    thread = threading.Thread(target=clients.run)
    thread.start()
    took_s = rounds(server, folder, payload, count)
    clients.stop.set()
    thread.join()
    time.sleep(_REST_S)
    return took_s, resident_bytes(server.pid)


def measured(count: int) -> dict[str, Any]:
    """The row of the table."""
    payload = squeezenet()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = started(folder, payload)
        try:
            asked = Payload(_NAMES[0], payload.file, payload.inputs)
            clients = Clients(server.port("grpc"), asked)
            _, first = under_load(clients, server, folder, payload, _FIRST)
            early_s, half = under_load(clients, server, folder, payload, count // 2)
            late_s, last = under_load(clients, server, folder, payload, count - count // 2)
        finally:
            server.end()
    ok = clients.results.pop("ok", 0)
    return {
        "rounds": count,
        "queries": ok,
        "failed": sum(clients.results.values()),
        "reload_p50_ms": statistics.median(early_s + late_s) * 1e3,
        "reload_longest_ms": max(early_s + late_s) * 1e3,
        "resident_first_mib": first / _MIB,
        "resident_half_mib": half / _MIB,
        "resident_last_mib": last / _MIB,
        "last_to_half": last / half,
    }


def main() -> None:
    """Measure, show, and store what was measured in full."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    count = parser.parse_args().rounds
    rows = [measured(count)]
    result_file.show("reload", rows)
    if count == ROUNDS:
        result_file.write("reload", {"clients": 2, "rest_s": _REST_S}, rows)


if __name__ == "__main__":
    main()
