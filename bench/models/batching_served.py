"""Batches over gRPC, in an open loop: what load a server holds within a target.

Servers of ours in three ways, with ``dynamic_batching`` of a delay, with batches as they form by
themselves, and with none; and Triton with the same delay, where it is here (``make triton``; ONNX
Runtime in its Python backend, an instance a core). All are up at once, and all but the one whose
turn it is are idle. In each round they are asked in turns at a ladder of fixed rates of Poisson
arrivals (``batching_ladder.py``), a couple of seconds each and some hundred queries at least, after
a short warm-up, the same arrivals of all; ``batching_turns.py`` says which rate a way holds, and
what batches lose of the queries that are in time one by one. A turn is taken again if the host or
other processes took more than 3 % of the cores meanwhile.

The target of 99 % is ten times what a query alone takes one by one, and 50 ms at least. The ladder
begins at 0.6 of what a server without batches answers to four waiting clients a core.

Bars: within the target as much as Triton, and 1.2 times ours one by one; nothing lost that was in
time alone. Rows of a call are of the server's statistics over a turn. Answers are compared with the
first one's, within the usual tolerance, before anything is measured. Models may be measured one at
a time: rows of others that are stored stay.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.infrastructure import result_file
from bench.infrastructure.stolen import unstolen
from bench.infrastructure.strangers import read_disturbances
from bench.models.batching_ladder import climb, rungs
from bench.models.batching_servers import (
    OFF,
    SIZES,
    TRITON,
    WAYS,
    Served,
    built_open,
    require_idle,
)
from bench.models.batching_turns import ServedTurn, capacity_row, rate_rows
from bench.neighbours.triton.environment import missing
from surplus.loadgen.capacity.misses import misses_of
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Records
from surplus.loadgen.stats import percentiles

TABLE, RATES, TURNS = "batching_served", "batching_served_rates", "batching_served_turns"

_RTOL, _ATOL = 1e-3, 1e-4
"""Between a row in a batch and the row alone, as ``--any-bits`` allows it."""

_TARGET_LONE, _TARGET_LEAST_MS = 10, 50.0
"""So often what a query takes alone. With a target that is near that hardly any rate is held. Nor
with one below what a shared machine takes a core away for now and then."""

_LEAST_QUERIES = 400
"""Of a turn: 1 % of fewer is chance."""

_LOOK_S = 3.0
_USERS_A_CORE = 4
_WARM_UP_NS = NS_PER_S // 2
_STOLEN, _ATTEMPTS = 0.03, 6


@contextmanager
def all_up(name: str, delay_us: int) -> Iterator[dict[str, Served]]:
    """Each way's server, all with the same answers, and idle."""
    rows = dict(np.load(built_open(name)[1]))
    alone: Any = None
    with ExitStack() as stack:
        servers: dict[str, Served] = {}
        for way in WAYS if missing() else (*WAYS, TRITON):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            servers[way] = Served(folder, name, way, delay_us)
            stack.callback(servers[way].end)
            for answer in servers[way].answers(rows):
                alone = answer if alone is None else alone
                np.testing.assert_allclose(answer, alone, rtol=_RTOL, atol=_ATOL)
        require_idle({way: served.pid for way, served in servers.items()})
        yield servers


def mean_rows(before: Mapping[int, int], after: Mapping[int, int]) -> float:
    """Of the calls in between, by counts of calls by their rows."""
    calls = {size: count - before.get(size, 0) for size, count in after.items()}
    total = sum(calls.values())
    return sum(size * count for size, count in calls.items()) / total if total > 0 else math.nan


def p99_ms(records: Records) -> float:
    """Of the measured queries that succeeded; nan if none did."""
    rows = records.measured()
    latencies_ns = (rows.done_ns - rows.intended_ns)[rows.kind == 0]
    return percentiles(latencies_ns, (99,))[0] / 1e6 if len(latencies_ns) else math.nan


class Ladder:
    """The turns of one model.

    Parameters
    ----------
    servers : mapping of str to Served
    target_ms : float
    seconds : float
        Of a turn, besides its warm-up.
    """

    def __init__(self, servers: Mapping[str, Served], target_ms: float, seconds: float) -> None:
        self._servers, self._target_ns = servers, round(target_ms * 1e6)
        self._load = LoadgenParams(round(seconds * NS_PER_S), warmup_ns=_WARM_UP_NS)
        self.turns: list[ServedTurn] = []

    def climb(self, lowest_per_s: float, step: float, round_number: int) -> None:
        """One round."""

        def ask(way: str, rate_per_s: float) -> float:
            turn = self._turn(way, rate_per_s, round_number)
            self.turns.append(turn)
            print(_told(turn), file=sys.stderr)
            return turn.in_time

        climb(tuple(self._servers), rungs(lowest_per_s, step), ask, round_number)

    def _turn(self, way: str, rate_per_s: float, round_number: int) -> ServedTurn:
        served, seed = self._servers[way], (round_number, round(rate_per_s * 1e3))

        def measure() -> tuple[Records, float]:
            before = served.calls()
            records = served.at_rate(rate_per_s, self._load, seed)
            return records, mean_rows(before, served.calls())

        (records, rows), share, attempts = unstolen(measure, _STOLEN, _ATTEMPTS, read_disturbances)
        misses, p99 = misses_of(records, self._target_ns), p99_ms(records)
        counts = misses.queries, misses.missed
        return ServedTurn(way, rate_per_s, round_number, *counts, p99, rows, share, attempts)


def _told(turn: ServedTurn) -> str:
    """A line for who watches."""
    again = f", attempt {turn.attempts}" if turn.attempts > 1 else ""
    return (
        f"round {turn.round_number + 1}, {turn.rate_per_s:.4g}/s, {turn.way}:"
        f" {turn.in_time:.2%} in time, p99 {turn.p99_ms:.1f} ms{again}"
    )


def measured(name: str, args: argparse.Namespace) -> tuple[float, Sequence[ServedTurn]]:
    """The target in milliseconds, and all turns of a model."""
    with all_up(name, args.delay_us) as servers:
        cores = len(os.sched_getaffinity(0))
        lone = servers[OFF].users(1, _LOOK_S).latency
        many = servers[OFF].users(_USERS_A_CORE * cores, _LOOK_S)
        if lone is None or many.latency is None:
            raise RuntimeError(f"{name}: no query succeeds")
        target_ms = args.target or max(_TARGET_LONE * lone.p50_ns / 1e6, _TARGET_LEAST_MS)
        lowest_per_s = args.lowest * many.throughput_per_s
        ladder = Ladder(servers, target_ms, max(args.seconds, _LEAST_QUERIES / lowest_per_s))
        for round_number in range(args.rounds):
            ladder.climb(lowest_per_s, args.step, round_number)
    return target_ms, ladder.turns


def main() -> None:
    """Measure and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default=",".join(SIZES), metavar="NAME,...")
    add("--target", type=float, metavar="MS", help="of 99 %%; else ten times a query alone, and 50")
    add("--delay-us", type=int, default=2_000, metavar="US")
    add("--rounds", type=int, default=3)
    add("--seconds", type=float, default=2.0, help="of a turn, at least (%(default)s)")
    add("--lowest", type=float, default=0.6, help="rate, of a closed loop's (%(default)s)")
    add("--step", type=float, default=1.06, help="from a rate to the next (%(default)s)")
    add("--dry", action="store_true", help="store nothing")
    args = parser.parse_args()
    config = {key: value for key, value in vars(args).items() if key != "dry"}
    for name in args.models.split(","):
        target_ms, turns = measured(name, args)
        tables = {
            TABLE: [capacity_row(name, target_ms, turns)],
            RATES: rate_rows(name, turns),
            TURNS: [{"model": name, **turn._asdict()} for turn in turns],
        }
        for table, rows in tables.items():
            if table != TURNS:
                result_file.show(table, rows)
            if not args.dry:
                result_file.write(table, config, [*stored_rows(table, name), *rows])


def stored_rows(table: str, without: str) -> list[dict[str, Any]]:
    """Of other models, measured before."""
    path = result_file.path_of(table)
    rows = result_file.read_rows(path) if path.exists() else []
    return [row for row in rows if row["model"] != without]


if __name__ == "__main__":
    main()
