"""Batches over gRPC, in an open loop: what load a server holds within a target.

``loadgen capacity`` looks for the highest rate of Poisson arrivals of which 99 % are answered
within the target, ten times what a query alone takes one by one and 50 ms at least. It asks a
server of ours in three ways: with ``dynamic_batching`` of a delay, with batches as they form by
themselves, and with none; and Triton with the same delay, where it is here (``make triton``; ONNX
Runtime in its Python backend, an instance a core). The ways take turns, in another order each
round.

Then ``loadgen run`` asks each of them at the rate that the server without batches holds, the same
arrivals of all: how many queries miss the target is what batches lose of those that would have been
kept alone, or win. Rows of a call are of the server's statistics over that run.
Answers are compared with the first one's, within the usual tolerance, before anything is measured.
Models may be measured one at a time: rows of others that are stored stay.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.infrastructure import result_file
from bench.models.batching_servers import (
    AS_THEY_COME,
    DELAYED,
    OFF,
    SIZES,
    TRITON,
    WAYS,
    Served,
    built_open,
)
from bench.neighbours.triton.environment import missing

_RTOL, _ATOL = 1e-3, 1e-4
"""Between a row in a batch and the row alone, as ``--any-bits`` allows it."""


_TARGET_LONE, _TARGET_LEAST_MS = 10, 50.0
"""So often what a query takes alone. With a target that is near that hardly any rate is held, and
each window takes minutes for the queries that it needs to be sure. Nor with one below what a shared
machine takes a core away for now and then."""


class AtRate(NamedTuple):
    """Of one run at a fixed rate."""

    queries: int
    late: float
    """Those that took longer than the target, or failed."""
    rows: float
    """Of a call of the model, on average; nan where the server does not tell."""


def late_of(result: Mapping[str, Any], target_ns: float) -> float:
    """How many queries of ``loadgen run`` missed the target.

    Those that were answered are counted by the curve of percentiles, between whose points the late
    ones differ by a twelfth.
    """
    summary, curve = result["summary"], result["percentiles"]
    failed = summary["queries"] - summary["succeeded"]
    if not curve or curve[0][1] > target_ns:
        return float(summary["queries"])
    percents, latencies_ns = zip(*curve, strict=True)
    # Of equal latencies the last one counts: all up to it took no longer.
    within = np.searchsorted(latencies_ns, target_ns, "right") - 1
    return float(failed + summary["succeeded"] * (1 - percents[within] / 100))


def mean_rows(before: Mapping[int, int], after: Mapping[int, int]) -> float:
    """Of the calls in between, by counts of calls by their rows."""
    calls = {size: count - before.get(size, 0) for size, count in after.items()}
    total = sum(calls.values())
    return sum(size * count for size, count in calls.items()) / total if total > 0 else math.nan


Measure = Callable[[Served, str, int], None]
"""Of a server in a way, in a round."""


def in_turns(name: str, ways: Sequence[str], args: argparse.Namespace, measure: Measure) -> None:
    """Start each way's server so many times, in another order each round."""
    rows = dict(np.load(built_open(name)[1]))
    alone: Any = None
    for turn, way in turns(ways, args.rounds):
        with tempfile.TemporaryDirectory() as folder:
            served = Served(Path(folder), name, way, args.delay_us)
            try:
                answers = served.answers(rows)
                alone = answers[0] if alone is None else alone
                for answer in answers:
                    np.testing.assert_allclose(answer, alone, rtol=_RTOL, atol=_ATOL)
                measure(served, way, turn)
            finally:
                served.end()


def turns(ways: Sequence[str], rounds: int) -> Iterator[tuple[int, str]]:
    """Whose turn it is, with the number of the round."""
    for turn in range(rounds):
        for place in range(len(ways)):
            yield turn, ways[(place + turn) % len(ways)]


def row(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one model in each way, so many times."""
    ways = WAYS if missing() else (*WAYS, TRITON)
    rates, runs = defaultdict[str, list[float]](list), defaultdict[str, list[AtRate]](list)
    lone_ms: list[float] = []
    once = argparse.Namespace(**{**vars(args), "rounds": 1})
    in_turns(name, (OFF,), once, lambda served, *_: lone_ms.append(served.lone_ms()))
    target_ms = args.target or max(_TARGET_LONE * lone_ms[0], _TARGET_LEAST_MS)

    def find(served: Served, way: str, _: int) -> None:
        rates[way].append(served.capacity(target_ms, args.resolution, args.window))
        print(f"{name}, {way}: {rates[way][-1]:.1f}/s within {target_ms:.1f} ms", file=sys.stderr)

    def ask(served: Served, way: str, turn: int) -> None:
        before = served.calls()
        result = served.run(statistics.median(rates[OFF]), args.duration, turn)
        late = late_of(result, target_ms * 1e6)
        rows = mean_rows(before, served.calls())
        runs[way].append(AtRate(result["summary"]["queries"], late, rows))

    in_turns(name, ways, args, find)
    in_turns(name, ways, args, ask)
    return table_row(name, target_ms, rates, runs)


def table_row(
    name: str,
    target_ms: float,
    found: Mapping[str, Sequence[float]],
    runs: Mapping[str, Sequence[AtRate]],
) -> dict[str, Any]:
    """Medians over the rounds; what is lost is of the same round, and so of the same arrivals."""
    rates = {way: statistics.median(each) for way, each in found.items()}
    return {
        "model": name,
        "target ms": target_ms,
        **{f"{way} /s": rate for way, rate in rates.items()},
        "a delay over one by one": rates[DELAYED] / rates[OFF],
        "as they come over one by one": rates[AS_THEY_COME] / rates[OFF],
        "a delay over Triton": rates[DELAYED] / rates.get(TRITON, math.nan),
        "as they come over Triton": rates[AS_THEY_COME] / rates.get(TRITON, math.nan),
        "queries at one by one's rate": statistics.median(run.queries for run in runs[OFF]),
        **{f"{way} late": statistics.median(run.late for run in runs[way]) for way in runs},
        **{f"{way} lost": _lost(runs[way], runs[OFF]) for way in runs if way != OFF},
        **{f"{way} rows a call": statistics.median(r.rows for r in runs[way]) for way in runs},
    }


def _lost(batched: Sequence[AtRate], alone: Sequence[AtRate]) -> float:
    """Targets that are missed and would have been kept alone, less those that are kept instead."""
    return statistics.median(b.late - a.late for b, a in zip(batched, alone, strict=True))


def main() -> None:
    """Measure and store the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join(SIZES), metavar="NAME,...")
    add("--target", type=float, metavar="MS", help="of 99 %%; else ten times a query alone, and 50")
    add("--delay-us", type=int, default=2_000, metavar="US")
    add("--rounds", type=int, default=3)
    add("--resolution", default="0.03")
    add("--window", default="5s")
    add("--duration", default="20s", help="of a run at one by one's rate (%(default)s)")
    args = parser.parse_args()
    for name in args.models.split(","):
        rows = [*stored_rows(without=name), row(name, args)]
        result_file.write("batching_served", vars(args), rows)
        result_file.show("batching_served", rows)


def stored_rows(without: str) -> list[dict[str, Any]]:
    """Of other models, measured before."""
    path = result_file.path_of("batching_served")
    rows = result_file.read_rows(path) if path.exists() else []
    return [row for row in rows if row["model"] != without]


if __name__ == "__main__":
    main()
