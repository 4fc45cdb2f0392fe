"""Models with deadlines beside each other and beside work without: who is in time, what is done.

Contenders are processes of their own and take turns of seconds; the host's steal is recorded.
``python -m bench neighbours --mix voice --loads 1,3,6`` shows; without words all is stored.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.bystanders import Bystanders
from bench.infrastructure.contender_process import ContenderProcess
from bench.neighbours.clairvoyant import AskedQuery, clairvoyant_holds, clairvoyant_work_ns
from bench.neighbours.contender import CORES, HOW, left_out
from bench.neighbours.mixes import MIXES, arrivals_s

LOADS = (1.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
ROUNDS, TURN_S = 5, 4.0
FASTEST = "fastest x1, nice"
BOUND = "bound (knows the future)"
MOST_MISSES = 0.01
_HOLDS, _FAILS = f"may be {MOST_MISSES}", f"above {MOST_MISSES}"
"""What the bound says of the worst model's misses."""
_SHOWN: Mapping[str, tuple[float, ...]] = {
    "work in time s/s": (6, 10),
    "background /s": (1, 3),
    "p99 of the tightest ms": (1,),
}
"""Beside the load that is held."""


def measured(
    mix: str, loads: Sequence[float], rounds: int, turn_s: float, *, poisson: bool
) -> list[dict[str, Any]]:
    """A row for each contender and load."""
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        there: dict[str, ContenderProcess] = {}
        try:
            for how in [how for how in HOW if how not in left_out()]:
                words = "bench.neighbours.contender", how, mix, folder
                there[how] = ContenderProcess(*words, quiet=True)
            alone_ns = there[FASTEST].ask(do="alone")
            for process in there.values():  # what is opened when queries first overlap
                process.ask(do="turn", load=max(loads), s=1.0, seed=rounds, poisson=poisson)
            rows = []
            for load in loads:
                turns: dict[str, list[dict[str, Any]]] = {how: [] for how in there}
                bystanders = Bystanders()
                for seed in range(rounds):
                    order = list(there)
                    for place in range(len(order)):
                        how = order[(place + seed) % len(order)]
                        asked = {"load": load, "s": turn_s, "seed": seed, "poisson": poisson}
                        with bystanders.watched():
                            turns[how].append(there[how].ask(do="turn", **asked))
                rows += [_row(mix, load, how, turns[how], alone_ns) for how in there]
                rows.append(_bound(mix, load, rounds, turn_s, alone_ns, poisson=poisson))
            return rows
        finally:
            for process in there.values():
                process.end()


def _row(
    mix: str,
    load: float,
    how: str,
    turns: Sequence[Mapping[str, Any]],
    alone_ns: Mapping[str, float],
) -> dict[str, Any]:
    seconds = sum(turn["s"] for turn in turns)
    misses, in_time_ns, p99 = {}, 0.0, {}
    for stream in MIXES[mix]:
        ns = np.array([ns for turn in turns for ns in turn["ns"][stream.name]])
        late = (ns == 0) | (ns > stream.due_ms * 1e6)
        misses[stream.name] = float(late.mean())
        in_time_ns += float((~late).sum()) * alone_ns[stream.name]
        p99[stream.name] = float(np.percentile(ns[ns > 0], 99)) / 1e6 if ns.any() else np.nan
    worst = max(misses, key=lambda name: misses[name])
    tightest = min(MIXES[mix], key=lambda stream: stream.due_ms).name
    return {
        "mix": mix,
        "load": load,
        "contender": how,
        "worst model's misses": misses[worst],
        "of": worst,
        "work in time s/s": in_time_ns / 1e9 / seconds,
        "background /s": sum(turn["background"] for turn in turns) / seconds,
        "p99 of the tightest ms": p99[tightest],
        "CPU s/s": sum(turn["cpu s"] for turn in turns) / seconds,
    }


def _bound(
    mix: str,
    load: float,
    rounds: int,
    turn_s: float,
    alone_ns: Mapping[str, float],
    *,
    poisson: bool,
) -> dict[str, Any]:
    """What a schedule holds that knows the same arrivals, and may share a query out over cores."""
    work_ns, holds = 0, True
    for seed in range(rounds):
        asked = [
            AskedQuery(
                stream.name,
                round(at_s * 1e9),
                round(at_s * 1e9 + stream.due_ms * 1e6),
                round(alone_ns[stream.name]),
            )
            for index, stream in enumerate(MIXES[mix])
            for at_s in arrivals_s(stream, load, turn_s, 97 * seed + index, poisson=poisson)
        ]
        work_ns += clairvoyant_work_ns(asked, CORES)
        holds = holds and clairvoyant_holds(asked, CORES, MOST_MISSES)
    return {
        "mix": mix,
        "load": load,
        "contender": BOUND,
        "worst model's misses": _HOLDS if holds else _FAILS,
        "of": "",
        "work in time s/s": work_ns / 1e9 / (rounds * turn_s),
        "background /s": "",
        "p99 of the tightest ms": "",
        "CPU s/s": "",
    }


def held(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The highest load of each contender and mix up to which no model missed more than that."""
    found: dict[tuple[str, str], float] = {}
    failed = set()
    for row in sorted(rows, key=lambda row: row["load"]):
        key = row["mix"], row["contender"]
        misses = row["worst model's misses"]
        holds = misses == _HOLDS if isinstance(misses, str) else misses <= MOST_MISSES
        if holds and key not in failed:
            found[key] = row["load"]
        elif not holds:
            failed.add(key)
            found.setdefault(key, 0.0)
    return [
        {
            "mix": mix,
            "contender": contender,
            f"load held at {MOST_MISSES:.0%} misses": load,
            **_at_loads(
                [row for row in rows if (row["mix"], row["contender"]) == (mix, contender)]
            ),
        }
        for (mix, contender), load in found.items()
    ]


def _at_loads(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What bars ask for at single loads, of those that were measured."""
    by_load = {row["load"]: row for row in rows}
    return {
        f"load {load:g}: {column}": by_load[load][column]
        for column, loads in _SHOWN.items()
        for load in loads
        if load in by_load
    }


def main() -> None:
    """Measure what the command line names, or all, which is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mix", choices=tuple(MIXES), help="one only; nothing is stored")
    parser.add_argument("--loads", default=",".join(f"{load:g}" for load in LOADS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--turn-s", type=float, default=TURN_S, help="seconds of a contender's turn"
    )
    parser.add_argument("--periodic", action="store_true", help="instead of Poisson arrivals")
    args = parser.parse_args()
    loads = [float(text) for text in args.loads.split(",")]
    for how, reason in left_out().items():
        print(f"{how} is left out: {reason}", file=sys.stderr)
    rows = []
    for mix in [args.mix] if args.mix else MIXES:
        rows += measured(mix, loads, args.rounds, args.turn_s, poisson=not args.periodic)
        own = [row for row in rows if row["mix"] == mix]
        result_file.show(mix, own)
        result_file.show(f"{mix}, held", held(own))
    if not args.mix:
        config = {"loads": loads, "rounds": args.rounds, "turn s": args.turn_s}
        result_file.write("neighbours", config, rows, result_file.machine())
        result_file.write("neighbours_held", config, held(rows), result_file.machine())


if __name__ == "__main__":
    main()
