"""``python -m bench response_cache``: what kept answers gain, and what it costs to look for them.

Two servers are asked by the same native client in turns, one of which keeps answers. Queries are
all the same, which it finds, or take turns through more than it has room for, which it keeps and
does not find. A row compares with the server without, asked the same in the same round.
``--quick`` does a little and stores nothing.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.infrastructure import result_file
from bench.serving.loads import TIMEOUT_NS, Turn, turn
from bench.serving.payloads import Payload, floats_16, squeezenet
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus
from surplus.loadgen.address import HostPort
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.native_load import NativeTarget

_SETTLE_S = 0.2
_ROOM = "1MiB"
_MANY = {"floats_16": 10_000, "squeezenet": 32}
"""Different queries, more than there is room for the answers of."""


class Load(NamedTuple):
    """Queries of a payload: of so many clients, all the same or not."""

    payload: Payload
    clients: int
    are_same: bool


def loads() -> list[Load]:
    """The rows of the table, each for both servers."""
    return [
        Load(payload, clients, are_same)
        for payload in (floats_16(), squeezenet())
        for clients in (1, 16)
        for are_same in (True, False)
    ]


def started(folder: Path, *, keeps: bool) -> ServerProcess:
    """A server of both payloads that keeps their answers or does not."""
    payloads = {made.name: made for made in (floats_16(), squeezenet())}
    if not keeps:
        return start_surplus(folder, payloads)
    for name in payloads:
        config = folder / "repository" / name / "config.pbtxt"
        config.parent.mkdir(parents=True)
        config.write_text("response_cache { enable: true }\n")
    return start_surplus(folder, payloads, ("--response-cache", _ROOM))


def target_of(server: ServerProcess, load: Load) -> NativeTarget:
    """Its queries, as bytes."""
    address = HostPort("127.0.0.1", server.port("grpc"))
    requests = [framed(request) for request in _requests(load)]
    return NativeTarget(address, requests, call_headers(str(address), TIMEOUT_NS), TIMEOUT_NS)


def _requests(load: Load) -> Iterator[bytes]:
    [(name, array)] = load.payload.inputs.items()
    for number in range(1 if load.are_same else _MANY[load.payload.name]):
        tensor = from_array(name, array + np.float32(number))
        yield infer_request(load.payload.name, "", [tensor])


def rows_of(servers: Sequence[ServerProcess], load: Load, rounds: int, turn_s: float) -> list[Any]:
    """A row for each server, of one load: first of the one that keeps nothing."""
    targets = [target_of(server, load) for server in servers]
    turns: list[list[Turn]] = [[] for _ in servers]
    for number in range(rounds):
        for place in range(len(servers)):
            which = (place + number) % len(servers)
            time.sleep(_SETTLE_S)
            asked = turn(servers[which].pid, targets[which], load.clients, turn_s)
            turns[which].append(asked)
    kept = "found" if load.are_same else "not found, kept"
    return [
        row_of(load, answers, own, turns[0])
        for answers, own in zip(("none kept", kept), turns, strict=True)
    ]


def row_of(
    load: Load, answers: str, turns: Sequence[Turn], without: Sequence[Turn]
) -> dict[str, Any]:
    """Medians, and the median of the ratios to the turns of the same rounds without."""
    pairs = [pair for pair in zip(turns, without, strict=True) if all(one.per_s for one in pair)]
    return {
        "payload": load.payload.name,
        "clients": load.clients,
        "queries": "the same" if load.are_same else "different",
        "answers": answers,
        "queries/s": round(statistics.median(one.per_s for one in turns)),
        "p50 ms": statistics.median(one.p50_ns for one in turns) / 1e6,
        "p99 ms": statistics.median(one.p99_ns for one in turns) / 1e6,
        "rate, ratio": statistics.median(one.per_s / off.per_s for one, off in pairs),
        "server CPU us a query": statistics.median(one.cpu_ns for one in turns) / 1e3,
        "errors": sum(sum(one.errors.values()) for one in turns),
    }


def main() -> None:
    """Measure, and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turn-s", type=float, default=2.0)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    rounds, turn_s = (1, 0.5) if args.quick else (args.rounds, args.turn_s)
    rows = []
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder, ExitStack() as stack:
        servers = []
        for keeps in (False, True):
            servers.append(started(Path(folder) / str(keeps), keeps=keeps))
            stack.callback(servers[-1].end)
        for load in loads():
            rows += rows_of(servers, load, rounds, turn_s)
    result_file.show("kept answers", rows)
    if not args.quick:
        result_file.write("response_cache", {"rounds": rounds, "turn s": turn_s}, rows)


if __name__ == "__main__":
    main()
