"""``python -m bench observability``: what it costs a tiny query that the server is observed.

Servers are asked by the same native client in turns: one that counts and remembers nothing
(``--no-metrics``), one as it is by default, one that is scraped, sends spans and logs queries, and
one that a status page asks besides. Who looks runs in a process of its own on the same cores, while
it is the server's turn. A row compares a way with the first one's turn of the same round. Then
histograms are held against what the client measured. ``--quick`` does a little, stores nothing.
"""

from __future__ import annotations

import argparse
import math
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray
from prometheus_client.parser import text_string_to_metric_families

from bench.infrastructure import result_file
from bench.infrastructure.ports import free_port
from bench.serving.loads import Asking, Turn, target_of
from bench.serving.payloads import floats_16, squeezenet
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus
from surplus.loadgen.address import HostPort
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad
from surplus.loadgen.params import LoadgenParams

LOADS = tuple(
    Asking("floats_16", protocol, clients)
    for protocol, clients in (("grpc", 1), ("grpc", 16), ("http", 1))
)
_SETTLE_S = 0.2
_OFF = "not observed"
_DURATION = "surplus_request_duration_seconds"
_COUNT, _SUM = f"{_DURATION}_count", f"{_DURATION}_sum"

# Asks the port that argv begins with for the other words, every so many seconds.
_LOOKS = """
import sys, time
from urllib.request import urlopen
port, every_s, *paths = sys.argv[1:]
while True:
    for path in paths:
        urlopen(f"http://127.0.0.1:{port}{path}", timeout=30).read()
    time.sleep(float(every_s))
"""
_SCRAPES = ("1", "/metrics")  # as a rule it is every 10 seconds or more
_PAGE = ("2", *(f"/v2/surplus/{name}" for name in ("server", "top", "timeline")))

_COLLECTS = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@dataclass(frozen=True)
class Way:
    """How a server is observed: whether it counts, sends spans and logs, and who looks at it."""

    name: str
    is_counted: bool = True
    has_spans: bool = False
    looks: tuple[tuple[str, ...], ...] = ()


WAYS = (
    Way(_OFF, is_counted=False),
    Way("as by default"),
    Way("scraped, spans, lines", has_spans=True, looks=(_SCRAPES,)),
    Way("these, and a status page", has_spans=True, looks=(_SCRAPES, _PAGE)),
)


class Observed:
    """A server that is observed so, until the stack is unwound."""

    def __init__(self, way: Way, folder: Path, stack: ExitStack) -> None:
        folder.mkdir()
        self.port = free_port() if way.is_counted else 0
        options = ["--metrics-port", str(self.port)] if self.port else ["--no-metrics"]
        if way.has_spans:
            collector = str(free_port())
            _begun(_COLLECTS, (collector,), stack)
            options += ["--otlp", f"http://127.0.0.1:{collector}", "--log-queries"]
        payloads = {made.name: made for made in (floats_16(), squeezenet())}
        self.server = start_surplus(folder, payloads, options)
        stack.callback(self.server.end)
        self._looks = [_begun(_LOOKS, (str(self.port), *look), stack) for look in way.looks]
        self._signal(signal.SIGSTOP)

    def turn(self, load: Asking, seconds: float) -> Turn:
        """Ask, while others look."""
        self._signal(signal.SIGCONT)
        try:
            return self.server.turn(load, seconds)
        finally:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        for process in self._looks:
            process.send_signal(number)


def _begun(program: str, words: Sequence[str], stack: ExitStack) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program, *words]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process


def cost_rows(there: dict[str, Observed], rounds: int, turn_s: float) -> list[dict[str, Any]]:
    """A row for each load and way."""
    rows = []
    for load in LOADS:
        turns: dict[str, list[Turn]] = {name: [] for name in there}
        for number in range(rounds):
            names = list(there)
            for place in range(len(names)):
                name = names[(place + number) % len(names)]
                time.sleep(_SETTLE_S)
                turns[name].append(there[name].turn(load, turn_s))
        own = [cost_row(load, name, turns[name], turns[_OFF]) for name in there]
        result_file.show(f"{load.payload}, {load.path}, {load.clients}", own)
        rows += own
    return rows


def cost_row(
    load: Asking, name: str, turns: Sequence[Turn], without: Sequence[Turn]
) -> dict[str, Any]:
    """Medians, and medians of the ratios to the turns of the same rounds without it."""
    pairs = [pair for pair in zip(turns, without, strict=True) if all(one.per_s for one in pair)]
    return {
        "protocol": load.protocol,
        "clients": load.clients,
        "observed": name,
        "queries/s": round(statistics.median(turn.per_s for turn in turns)),
        "p50 ms": statistics.median(turn.p50_ns for turn in turns) / 1e6,
        "p99 ms": statistics.median(turn.p99_ns for turn in turns) / 1e6,
        "rate, ratio": statistics.median(turn.per_s / off.per_s for turn, off in pairs),
        "p50, ratio": statistics.median(turn.p50_ns / off.p50_ns for turn, off in pairs),
        "server CPU us a query": statistics.median(turn.cpu_ns for turn in turns) / 1e3,
        "server CPU, ratio": statistics.median(turn.cpu_ns / off.cpu_ns for turn, off in pairs),
        "errors": sum(sum(turn.errors.values()) for turn in turns),
    }


def agreement_rows(observed: Observed, seconds: float) -> list[dict[str, Any]]:
    """Percentiles that the client measured, and the buckets that the server has them in.

    A client waits for what is outside the server, too: that is, on the mean, what its own mean is
    longer by, and taken off before it is asked whether a percentile is in its bucket.
    """
    before = _counted(observed.port)
    latencies_s = np.sort(_latencies_s(observed.server, seconds))
    counts = _counted(observed.port)
    counts.subtract(before)
    whole, total_s = counts.pop(_COUNT), counts.pop(_SUM)
    outside_s = float(latencies_s.mean()) - total_s / whole
    rows = []
    for share in (0.5, 0.9, 0.99):
        client_s = latencies_s[math.ceil(share * len(latencies_s)) - 1]
        below_s, bound_s = _bucket_of(counts, share * whole)
        rows.append(
            {
                "share of queries": share,
                "loadgen ms": client_s * 1e3,
                "outside the server ms, mean": outside_s * 1e3,
                "histogram, above ms": below_s * 1e3,
                "histogram, at most ms": bound_s * 1e3,
                "agree": bool(below_s < client_s - outside_s <= bound_s),
                "queries, loadgen": len(latencies_s),
                "queries, histogram": round(whole),
            }
        )
    return rows


def _latencies_s(server: ServerProcess, seconds: float) -> NDArray[np.float64]:
    payload = squeezenet()
    load = LoadgenParams(min_duration_ns=round(seconds * NS_PER_S), warmup_ns=0)
    address = HostPort("127.0.0.1", server.port("grpc"))
    with target_of(address, Asking(payload.name, "grpc", 1), payload) as target:
        records = NativeLoad(target, ClosedLoopParams(load, 1)).run()
    found: NDArray[np.float64] = (records.done_ns - records.sent_ns) / NS_PER_S
    return found


def _counted(port: int) -> Counter[str]:
    """Of squeezenet: by bound how many queries took at most so many seconds; how many; seconds."""
    with urlopen(f"http://127.0.0.1:{port}/metrics?prefix=surplus_request", timeout=30) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return Counter(
        {
            sample.labels.get("le", sample.name): sample.value
            for family in families
            if family.name == _DURATION
            for sample in family.samples
            if sample.labels["model"] == "squeezenet"
        }
    )


def _bucket_of(counts: Counter[str], wanted: float) -> tuple[float, float]:
    """The bounds of the bucket with which so many queries are reached, in seconds."""
    below = 0.0
    for bound in sorted(counts, key=float):
        if counts[bound] >= wanted:
            return below, float(bound)
        below = float(bound)
    raise AssertionError("the last bucket has all")


def main() -> None:
    """Measure, and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turn-s", type=float, default=3.0)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    rounds, turn_s = (1, 0.5) if args.quick else (args.rounds, args.turn_s)
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder, ExitStack() as stack:
        there = {
            way.name: Observed(way, Path(folder) / str(place), stack)
            for place, way in enumerate(WAYS)
        }
        costs = cost_rows(there, rounds, turn_s)
        agreement = agreement_rows(there["as by default"], 4 * turn_s)
    result_file.show("loadgen and the server's histograms", agreement)
    if args.quick:
        return
    config = {"rounds": rounds, "turn s": turn_s}
    result_file.write("observability_cost", config, costs)
    result_file.write("observability_agreement", config, agreement)


if __name__ == "__main__":
    main()
