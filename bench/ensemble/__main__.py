"""An ensemble of five steps, against the same called one after another, and Triton's ensemble.

Each server is asked in turns by one client that waits for each answer, as an ensemble and step by
step, and then by several at a time; with a large photograph, of which decoding takes half of the
time, and with a small one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.ensemble.asking import PipelineClient, times_ns
from bench.ensemble.repositories import ENSEMBLE
from bench.ensemble.servers import SERVERS, TRITON
from bench.ensemble.steps import INPUT, PHOTOGRAPHS, all_steps, photograph
from bench.infrastructure import result_file
from bench.serving.loads import Asking
from bench.serving.payloads import Payload
from bench.serving.server_process import ServerProcess

ROUNDS, TURN_S, CLIENTS = 5, 4.0, 4
HOWS = ("ensemble", "steps in turn")


def measured(
    servers: Mapping[str, ServerProcess], size: str, rounds: int, turn_s: float
) -> list[dict[str, Any]]:
    """A row for each server and way to ask it with a photograph of that size."""
    steps, load, file = all_steps(), Asking(size, "grpc", CLIENTS), photograph(size)
    clients = {name: PipelineClient(one.port("grpc"), steps) for name, one in servers.items()}
    require_equal({name: client.whole(file) for name, client in clients.items()})
    found = Found()
    for number in range(rounds):
        names = list(servers) if number % 2 else list(servers)[::-1]
        for name in names:
            client = clients[name]
            for how, ask in zip(HOWS, (client.whole, client.in_turn), strict=True):
                found.took_ns[name, how].append(statistics.median(times_ns(ask, file, turn_s)))
        for name in names:
            turn = servers[name].turn(load, turn_s)
            # Triton's answers to queries that overlap are other bytes around the same tensors.
            per_s = turn.per_s + turn.errors.get("DIFFERENT_ANSWER", 0) / turn_s
            found.per_s[name].append(per_s)
            found.cpu_ns[name].append(turn.cpu_ns)
            if turn.errors:
                print(f"{name}, {CLIENTS} clients: {turn.errors} {turn.said}", file=sys.stderr)
    for client in clients.values():
        client.close()
    return [{"photograph": size} | row(name, how, found) for name in servers for how in HOWS]


@dataclass
class Found:
    """Of each round: one query's time by server and way, and what several clients got and cost."""

    took_ns: defaultdict[tuple[str, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    per_s: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu_ns: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def row(name: str, how: str, found: Found) -> dict[str, Any]:
    """Medians over the rounds, of times and of ratios within a round."""
    own: dict[str, Any] = {
        "server": name,
        "asked": how,
        "one query ms": statistics.median(found.took_ns[name, how]) / 1e6,
        "of the steps in turn": _ratio(found.took_ns[name, how], found.took_ns[name, HOWS[1]]),
        f"queries/s, {CLIENTS} clients": "",
        "of Triton's": "",
        "CPU ms a query": "",
    }
    if how == HOWS[0]:
        own[f"queries/s, {CLIENTS} clients"] = statistics.median(found.per_s[name])
        own["CPU ms a query"] = statistics.median(found.cpu_ns[name]) / 1e6
        if all(found.per_s.get(TRITON, [0.0])):
            own["of Triton's"] = _ratio(found.per_s[name], found.per_s[TRITON])
    return own


def require_equal(answers: Mapping[str, Mapping[str, np.ndarray[Any, Any]]]) -> None:
    """Whoever answers, it is the same.

    Raises
    ------
    AssertionError
        If not; it says where.
    """
    first = next(iter(answers.values()))
    for answer in answers.values():
        for name, array in answer.items():
            np.testing.assert_allclose(array, first[name], rtol=1e-3, atol=1e-3)


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def main() -> None:
    """Measure, show, and store unless only some is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", default="", help="parts of names, between commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--turn-s", type=float, default=TURN_S, help="seconds of one turn")
    args = parser.parse_args()
    words = [word for word in args.servers.split(",") if word]
    names = [name for name in SERVERS if not words or any(word in name for word in words)]
    missing = dict[str, str]()
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder, ExitStack() as stack:
        servers = started(names, Path(folder), stack, missing)
        if not servers:
            sys.exit("no server is left")
        rows = []
        for size in PHOTOGRAPHS:
            rows += measured(servers, size, args.rounds, args.turn_s)
    result_file.show("Ensemble", rows)
    if not words:
        config = {"rounds": args.rounds, "turn s": args.turn_s, "left out": missing}
        result_file.write("ensemble", config, rows)


def started(
    names: Sequence[str],
    folder: Path,
    stack: ExitStack,
    missing: dict[str, str],
) -> dict[str, ServerProcess]:
    """Those that start; the others join those that are missing, with what they said."""
    steps, servers = all_steps(), dict[str, ServerProcess]()
    payloads = {
        size: Payload(ENSEMBLE, steps[0].file, {INPUT: photograph(size)}) for size in PHOTOGRAPHS
    }
    for name in names:
        try:
            servers[name] = SERVERS[name](folder, payloads, steps)
        except (RuntimeError, FileNotFoundError) as error:
            missing[name] = str(error)
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        stack.callback(servers[name].end)
    return servers


if __name__ == "__main__":
    main()
