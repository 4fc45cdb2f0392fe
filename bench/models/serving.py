"""What serving costs over gRPC: queries a second and latency of models of several sizes.

Client and server share the machine's cores, as in every figure of this kind; the limit beside
them is the same model called in process by as many threads.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import surplus
from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER, built
from surplus.loadgen.clock import MonotonicClock
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.stats import summarise
from surplus.loadgen.threaded_loop import run_threaded_loop

BIN = Path(sys.executable).parent
SECONDS = 4


def in_process(path: Path, inputs: dict[str, Any], users: int) -> float:
    """Queries a second of direct calls."""
    model = surplus.load(path, cache=FOLDER / "cache")
    load = LoadgenParams(min_duration_ns=SECONDS * 1_000_000_000)
    records = run_threaded_loop(
        lambda _: model.run(inputs), ClosedLoopParams(load, users=users), MonotonicClock()
    )
    return summarise(records, open_loop=False).throughput_per_s


def served(path: Path, users: int) -> dict[str, Any]:
    """Load generator's summary against ``engine serve``."""
    server = subprocess.Popen(
        [BIN / "engine", "serve", path, "--port", "0", "--cache", FOLDER / "cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = _address(server.stdout.readline())
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            subprocess.run(
                [
                    BIN / "loadgen",
                    "--url",
                    address,
                    "--model",
                    path.stem,
                    "--users",
                    str(users),
                    "--duration",
                    f"{SECONDS}s",
                    "--warmup",
                    "1s",
                    "--inputs",
                    path.with_suffix(".npz"),
                    "--json",
                    out.name,
                ],
                check=True,
                capture_output=True,
            )
            found: dict[str, Any] = json.loads(Path(out.name).read_text())["summary"]
            return found
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def _address(line: str) -> str:
    match = re.search(r"on (\S+:\d+)", line)
    if match is None:
        raise RuntimeError(f"the server did not start: {line!r}")
    return match.group(1)


def main() -> None:
    """Run and store the table."""
    rows = []
    for name in ("lenet", "dlrm", "mobilenet_v2", "ssd_per_class"):
        path, inputs = built(name)
        for users in (1, 8):
            direct = in_process(path, inputs, min(users, len(os.sched_getaffinity(0))))
            found = served(path, users)
            latency = found["latency"]
            rows.append(
                {
                    "model": name,
                    "users": users,
                    "queries/s over gRPC": found["throughput_per_s"],
                    "p50 ms": latency["p50_ns"] / 1e6,
                    "p99 ms": latency["p99_ns"] / 1e6,
                    "queries/s in process": direct,
                    "errors": sum(found["errors"].values()),
                }
            )
    result_file.show("Serving over gRPC", rows)
    result_file.write("serving", {"seconds": SECONDS}, rows)


if __name__ == "__main__":
    main()
