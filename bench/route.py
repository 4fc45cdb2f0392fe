"""``python -m bench route``: what ``engine route`` adds to a query.

The native client asks a server directly, and the same server through a route before it, in turns,
so that what else the machine does falls on both alike. What counts is the difference of the
medians of each pair of turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.infrastructure.ports import free_port
from bench.serving.loads import Asking
from bench.serving.payloads import Payload, floats_16, kilobytes_600
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus

LOADS = (
    Asking("floats_16", "grpc", 1),
    Asking("floats_16", "grpc", 16),
    Asking("kilobytes_600", "grpc", 1),
    Asking("floats_16", "http", 1),
    Asking("floats_16", "http", 16),
    Asking("kilobytes_600", "http", 1),
)
MOST_ADDED_US = 150
"""What may be added to the median of a small query of one client, over gRPC or REST."""


def start_route(
    folder: Path, payloads: Mapping[str, Payload], servers: Sequence[ServerProcess]
) -> ServerProcess:
    """A route before some servers."""
    ports = {"grpc": free_port(), "http": free_port()}
    command = [
        Path(sys.executable).with_name("engine"),
        "route",
        *(f"127.0.0.1:{server.port('grpc')}+{server.port('http')}" for server in servers),
        *("--port", str(ports["grpc"]), "--http-port", str(ports["http"])),
    ]
    return ServerProcess(command, ports, payloads, folder / "log")


def row(load: Asking, turns: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Medians of the turns' medians, directly and through the route.

    Parameters
    ----------
    turns : sequence of (int, int)
        Median latencies of both, ns.
    """
    added_us = [(routed - direct) / 1e3 for direct, routed in turns]
    return {
        "payload": load.payload,
        "path": load.path,
        "clients": load.clients,
        "direct p50 us": round(statistics.median(direct for direct, _ in turns) / 1e3, 1),
        "routed p50 us": round(statistics.median(routed for _, routed in turns) / 1e3, 1),
        "ratio": round(statistics.median(routed / direct for direct, routed in turns), 2),
        "added us": round(statistics.median(added_us), 1),
        "added us, least to most": f"{min(added_us):.0f} to {max(added_us):.0f}",
        "turns": len(turns),
    }


def measure(rounds: int, seconds: float, replicas: int) -> list[dict[str, Any]]:
    """Every load, ``rounds`` turns of each, each of ``seconds``."""
    payloads = {payload.name: payload for payload in (floats_16(), kilobytes_600())}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        servers = []
        for number in range(replicas):
            folder = Path(name) / f"server_{number}"
            folder.mkdir()
            servers.append(start_surplus(folder, payloads, ("--devices", "cpu:1", "--no-metrics")))
            stack.callback(servers[-1].end)
        route = start_route(Path(name), payloads, servers)
        stack.callback(route.end)
        turns: dict[Asking, list[tuple[int, int]]] = {load: [] for load in LOADS}
        for _ in range(rounds):
            for load in LOADS:
                direct, routed = servers[0].turn(load, seconds), route.turn(load, seconds)
                if failed := direct.errors or routed.errors:
                    raise RuntimeError(f"{load}: {failed}")
                turns[load].append((direct.p50_ns, routed.p50_ns))
    return [row(load, found) for load, found in turns.items()]


def main() -> int:
    """Measure and print; 1 where more is added than may be."""
    parser = argparse.ArgumentParser(prog="bench route", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn")
    parser.add_argument("--replicas", type=int, default=1, help="servers behind the route")
    args = parser.parse_args()
    rows = measure(args.rounds, args.seconds, args.replicas)
    for found in rows:
        print(", ".join(f"{key} {value}" for key, value in found.items()))
    small = [found for found in rows if found["payload"] == "floats_16" and found["clients"] == 1]
    return 0 if all(found["added us"] <= MOST_ADDED_US for found in small) else 1


if __name__ == "__main__":
    sys.exit(main())
