"""The same models in one process, and in one each, with the broker of cores and without.

Crews take turns of seconds on the same arrivals; all members of a crew begin at one moment.
``python -m bench neighbours_processes --mix voice --loads 1,3,6`` shows; ``--store`` stores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from bench.infrastructure import result_file
from bench.neighbours.__main__ import LOADS, ROUNDS, TURN_S, _row
from bench.neighbours.contender import (
    CALLERS,
    CORES,
    Ask,
    Background,
    alone_ns,
    ask_in_time,
    engine,
    is_answered,
)
from bench.neighbours.mixes import BACKGROUND, MIXES, arrivals_s
from surplus.engine.devices.shared_cores import BROKER_VARIABLE

TOGETHER = "one process"
CREWS = {TOGETHER: "off", "a process each": "file", "a process each, no broker": "off"}
"""Whether their processes share a broker's file."""
_LEAD_NS = 100_000_000
"""Before a turn begins, for all members to have heard of it."""


class Member:
    """A process that serves some streams of a mix, or the background, or all."""

    def __init__(self, mix: str, names: Sequence[str], cache: Path, broker: str) -> None:
        self._names = ",".join(names)
        words = [sys.executable, "-m", "bench.neighbours.processes", "--serve"]
        words += [self._names, "--mix", mix, "--cache", str(cache)]
        pipe = subprocess.PIPE
        environment = {**os.environ, BROKER_VARIABLE: broker}
        self._child = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment)
        self.answer()

    def tell(self, **request: Any) -> None:
        """Begin a turn; answer() has what came of it."""
        assert self._child.stdin, "it is a pipe"
        self._child.stdin.write(json.dumps(request) + "\n")
        self._child.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """What it says.

        Raises
        ------
        RuntimeError
            If it has ended: whose, and with which status (negative: by that signal).
        """
        assert self._child.stdout, "it is a pipe"
        line = self._child.stdout.readline()
        if not line:
            status = self._child.wait()
            raise RuntimeError(f"the process of {self._names} ended with status {status}")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Nobody asks any more."""
        self._child.communicate()


class Crew:
    """Processes that answer a mix together."""

    def __init__(self, how: str, mix: str, cache: Path, broker: Path) -> None:
        names = [stream.name for stream in MIXES[mix]] + [BACKGROUND.name]
        parts = [names] if how == TOGETHER else [[name] for name in names]
        said = str(broker) if CREWS[how] == "file" else CREWS[how]
        self._members = [Member(mix, part, cache, said) for part in parts]

    def ask(self, **request: Any) -> dict[str, Any]:
        """What all of them did in a turn, or what a query of each model takes alone."""
        begin_ns = time.monotonic_ns() + _LEAD_NS
        for member in self._members:
            member.tell(begin_ns=begin_ns, **request)
        found = [member.answer() for member in self._members]
        return {
            "ns": {name: ns for part in found for name, ns in part["ns"].items()},
            "background": sum(part["background"] for part in found),
            "s": max(part["s"] for part in found),
            "cpu s": sum(part["cpu s"] for part in found),
        }

    def end(self) -> None:
        """Its processes end."""
        for member in self._members:
            member.end()


def serve(mix: str, names: Sequence[str], cache: Path) -> None:
    """What a member does until nobody asks any more."""
    asks = {stream.name: engine()(stream, cache) for stream in MIXES[mix] if stream.name in names}
    background = engine()(BACKGROUND, cache) if BACKGROUND.name in names else None
    for ask in (*asks.values(), *([background] if background else [])):
        is_answered(ask, 0)  # beside what others load now a first query may be refused
    _say({})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "alone":
            times = {name: alone_ns(ask) for name, ask in asks.items()}
            _say({"ns": times, "background": 0, "s": 0.0, "cpu s": 0.0})
        else:
            _say(turn(mix, asks, background, asked))


def turn(
    mix: str, asks: Mapping[str, Ask], background: Ask | None, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Latencies by stream of an open loop, and what the background did meanwhile."""
    work = Background(background, CORES) if background is not None else None
    _sleep_until(asked["begin_ns"])
    began_s, used_s = time.monotonic(), time.process_time()
    if work is not None:
        work.begin()
    latencies: dict[str, list[int]] = {}
    threads = []
    for index, stream in enumerate(MIXES[mix]):
        if stream.name not in asks:
            continue
        seed = 97 * asked["seed"] + index
        times = arrivals_s(stream, asked["load"], asked["s"], seed, poisson=asked["poisson"])
        found = latencies.setdefault(stream.name, [])
        due_after_ns = round(stream.due_ms * 1e6)
        given = (asks[stream.name], asked["begin_ns"], times, due_after_ns, found, count(), False)
        threads += [threading.Thread(target=ask_in_time, args=given) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _sleep_until(asked["begin_ns"] + round(asked["s"] * 1e9))
    done = work.end() if work is not None else 0
    spent_s = time.monotonic() - began_s
    cpu_s = time.process_time() - used_s
    return {"ns": latencies, "background": done, "s": spent_s, "cpu s": cpu_s}


def _sleep_until(ns: int) -> None:
    time.sleep(max(0.0, (ns - time.monotonic_ns()) / 1e9))


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def measured(
    mix: str, loads: Sequence[float], rounds: int, cache: Path, broker: Path, *, poisson: bool
) -> list[dict[str, Any]]:
    """A row for each crew and load."""
    crews = {how: Crew(how, mix, cache, broker) for how in CREWS}
    try:
        alone = crews[TOGETHER].ask(do="alone")["ns"]
        rows = []
        for load in loads:
            turns: dict[str, list[dict[str, Any]]] = {how: [] for how in crews}
            for seed in range(rounds):
                order = list(crews)
                for place in range(len(order)):
                    how = order[(place + seed) % len(order)]
                    asked = {"load": load, "s": TURN_S, "seed": seed, "poisson": poisson}
                    turns[how].append(crews[how].ask(do="turn", **asked))
            rows += [_row(mix, load, how, turns[how], alone) for how in crews]
        return rows
    finally:
        for crew in crews.values():
            crew.end()


def main() -> None:
    """Measure what the command line names, or serve as a member."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mix", choices=tuple(MIXES), default="voice")
    parser.add_argument("--loads", default=",".join(f"{load:g}" for load in LOADS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--periodic", action="store_true", help="instead of Poisson arrivals")
    parser.add_argument("--cache", type=Path, help="of plans, kept; else they are made anew")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        return serve(args.mix, args.serve.split(","), args.cache)
    loads = [float(text) for text in args.loads.split(",")]
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        cache, broker = args.cache or Path(folder), Path(folder) / "broker"
        rows = measured(args.mix, loads, args.rounds, cache, broker, poisson=not args.periodic)
    result_file.show(f"{args.mix}, by processes", rows)
    if args.store:
        config = {"loads": loads, "rounds": args.rounds, "turn s": TURN_S}
        result_file.write("neighbours_processes", config, rows, result_file.machine())
    return None


if __name__ == "__main__":
    main()
