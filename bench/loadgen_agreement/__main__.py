"""Loadgen against known servers: perf_analyzer's latencies, LoadGen's, its own capacity and gaps.

perf_analyzer and loadgen run the same closed loops, in turns, against a server that answers after
known times, and MLPerf's LoadGen and loadgen Poisson arrivals of the same rate, each until every
time of the server's list came once; then as many of ``engine serve``. The capacity that is found is
asked for again ten times, of that server and of ``engine serve``; the gaps are of queries as they
really left. Ratios are medians over rounds. ``--rounds``, ``--seconds`` and ``--parts`` try it out;
without words all is stored.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.infrastructure import result_file
from bench.loadgen_agreement.known_server import (
    COUNT,
    MEDIAN_IN_TURN_NS,
    known_capacity_per_s,
    start_known,
)
from bench.loadgen_agreement.ours import Ours, gaps_cv
from bench.loadgen_agreement.perf_analyzer import (
    closed_percentiles_ns,
    perf_analyzer_missing,
    window_rates,
)
from bench.serving.payloads import all_payloads
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus
from surplus.loadgen.mlperf.library import mlperf_missing
from surplus.loadgen.stats import percentiles

ROUNDS, SECONDS, REPETITIONS, WINDOWS = 5, 10.0, 10, 10
TOLERANCE, GAPS_TOLERANCE = 0.03, 0.01
CLIENTS = (1, 2, 8)
GAPS_PER_S = 2000.0
_PAYLOAD = "squeezenet"
"""Its milliseconds are the server's: what a client costs is a small part of them."""

_LOAD_SHARE = 1 / 3
"""Of what one user gets, for MLPerf's rate of the engine."""

_TARGET_MEDIANS, _TARGET_IN_TURN_MEDIANS = 4, 8
_FIGURES = {"p50": 50.0, "p90": 90.0, "p99": 99.0}


Figures = Mapping[str, float]
"""Percentiles in nanoseconds, as ``p50``."""


class Setting(NamedTuple):
    """What every part gets."""

    server: ServerProcess
    ours: Ours
    one_user_ns: float
    """Median latency of one user."""

    rounds: int
    seconds: float
    folder: Path


def ratio_row(
    what: str, figure: str, pairs: Sequence[tuple[float, float]], tolerance: float
) -> dict[str, Any]:
    """Of a figure of both, round by round: ours, theirs, and the median ratio."""
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return {
        "what": what,
        "figure": figure,
        "loadgen": statistics.median(ours for ours, _ in pairs),
        "other": statistics.median(theirs for _, theirs in pairs),
        "ratio": ratio,
        "asked": f"1.00 +- {tolerance:.2f}",
        "held": abs(ratio - 1) <= tolerance,
    }


def perf_analyzer_rows(setting: Setting) -> list[dict[str, Any]]:
    """The same closed loops, each until the server's known times came once for each client."""
    server, payload, rows = start_known(setting.folder), all_payloads()["floats_16"], []
    ours = Ours(server.port("grpc"), payload)
    try:
        for clients in CLIENTS:
            queries = COUNT * clients
            asked = (server.port("grpc"), payload, clients, queries, setting.folder)
            asks = (
                partial(ours.closed_latencies_ns, clients, queries),
                partial(closed_percentiles_ns, *asked),
            )
            turns = [_in_turns(asks, number) for number in range(setting.rounds)]
            pairs = [(_figures(own), theirs) for own, theirs in turns]
            rows += _rows(f"perf_analyzer, gRPC, clients: {clients}", pairs)
    finally:
        server.end()
    return rows


def stability_rows(setting: Setting) -> list[dict[str, Any]]:
    """Whether perf_analyzer calls rates stable, over HTTP and over gRPC beside it."""
    rows = []
    for protocol in ("grpc", "http"):
        port = setting.server.port(protocol)
        rates = window_rates(port, protocol, all_payloads()["floats_16"], 1, WINDOWS)
        rows.append(
            {
                "what": f"perf_analyzer's windows, {protocol}, floats_16",
                "figure": "windows until stable",
                "other": len(rates),
                "ratio": max(rates) / min(rates) if rates else 0.0,
                "asked": f"< {WINDOWS}",
                "held": 0 < len(rates) < WINDOWS,
            }
        )
    return rows


def mlperf_rows(setting: Setting) -> list[dict[str, Any]]:
    """The server scenario at the same rate: of the known times once, and of the engine."""
    server = start_known(setting.folder)
    try:
        ours = Ours(server.port("grpc"), all_payloads()["floats_16"])
        rows = _mlperf_rows("known times", ours, COUNT / setting.seconds, setting)
    finally:
        server.end()
    rate_per_s = _LOAD_SHARE * 1e9 / setting.one_user_ns
    return [*rows, *_mlperf_rows(f"engine serve, {_PAYLOAD}", setting.ours, rate_per_s, setting)]


def _mlperf_rows(
    what: str, ours: Ours, rate_per_s: float, setting: Setting
) -> list[dict[str, Any]]:
    pairs = []
    for seed in range(setting.rounds):
        asked = (rate_per_s, COUNT, seed)
        asks = (
            partial(ours.open_latencies_ns, *asked),
            partial(ours.server_scenario, *asked, setting.folder),
        )
        own, result = _in_turns(asks, seed)
        theirs = {name: result.figures[f"{name}_ns"] for name in _FIGURES}
        pairs.append((_figures(own), theirs))
    return _rows(f"MLPerf LoadGen, server scenario, {what}", pairs)


def capacity_rows(setting: Setting) -> list[dict[str, Any]]:
    """What is found, beside what is known, and asked for again."""
    target_ns = _TARGET_IN_TURN_MEDIANS * MEDIAN_IN_TURN_NS
    server = start_known(setting.folder, is_in_turn=True)
    try:
        ours = Ours(server.port("grpc"), all_payloads()["floats_16"])
        found = ours.capacity(target_ns, setting.seconds / 2).rate_per_s
        rows = [_held_row("a server of known times, in turn", ours, found, target_ns, setting)]
    finally:
        server.end()
    known = known_capacity_per_s(target_ns)
    row = {"what": "capacity of known times, in turn", "figure": "queries/s", "loadgen": found}
    # Less than is known, since it must hold with confidence.
    row |= {"other": known, "ratio": found / known, "asked": "0.85 to 1.00"}
    rows.append(row | {"held": 0.85 <= found / known <= 1.0})
    target_ns = round(_TARGET_MEDIANS * setting.one_user_ns)
    found = setting.ours.capacity(target_ns, setting.seconds / 2).rate_per_s
    rows.append(_held_row("engine serve, squeezenet", setting.ours, found, target_ns, setting))
    return rows


def _held_row(
    what: str, ours: Ours, rate_per_s: float, target_ns: int, setting: Setting
) -> dict[str, Any]:
    """Whether a rate that was found holds when it is asked for again."""
    shares = [
        ours.late_share(rate_per_s, setting.seconds, 100 + seed, target_ns)
        for seed in range(REPETITIONS)
        if rate_per_s
    ]
    held = sum(share <= 0.01 for share in shares)
    return {
        "what": f"capacity within {target_ns / 1e6:.1f} ms of {what}, times it held again",
        "figure": "queries/s",
        "loadgen": rate_per_s,
        "other": held,
        "asked": f">= 9 of {REPETITIONS}",
        "held": held >= 9,
    }


def gaps_rows(setting: Setting) -> list[dict[str, Any]]:
    """Of Poisson arrivals, as they were meant and as they left."""
    ours = Ours(setting.server.port("grpc"), all_payloads()["floats_16"])
    runs = [
        ours.open(GAPS_PER_S, setting.seconds, seed).measured() for seed in range(setting.rounds)
    ]
    times = {
        "as they were meant": [records.intended_ns for records in runs],
        "as they left": [records.sent_ns for records in runs],
    }
    return [
        ratio_row(f"Poisson gaps, {how}", "CV", [(gaps_cv(own), 1.0)], GAPS_TOLERANCE)
        for how, own in times.items()
    ]


PARTS: dict[str, Callable[[Setting], list[dict[str, Any]]]] = {
    "perf_analyzer": perf_analyzer_rows,
    "stability": stability_rows,
    "mlperf": mlperf_rows,
    "capacity": capacity_rows,
    "gaps": gaps_rows,
}


def left_out() -> dict[str, str]:
    """Parts that cannot run here, and why."""
    analyzer, mlperf = perf_analyzer_missing(), mlperf_missing()
    reasons = {"perf_analyzer": analyzer, "stability": analyzer, "mlperf": mlperf}
    return {name: reason for name, reason in reasons.items() if reason}


def main() -> None:
    """Measure what the command line names, or all, which is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="", help=f"of {', '.join(PARTS)}, between commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one turn")
    args = parser.parse_args()
    asked = [name for name in args.parts.split(",") if name] or list(PARTS)
    if unknown := [name for name in asked if name not in PARTS]:
        sys.exit(f"no part {unknown[0]!r}; there are: {', '.join(PARTS)}")
    missing = left_out()
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    rows = []
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        payloads = {name: all_payloads()[name] for name in (_PAYLOAD, "floats_16")}
        server = start_surplus(Path(folder), payloads)
        try:
            ours = Ours(server.port("grpc"), payloads[_PAYLOAD])
            one_user_ns = float(np.median(ours.closed_latencies_ns(1, 200)))
            setting = Setting(server, ours, one_user_ns, args.rounds, args.seconds, Path(folder))
            for name in asked:
                if name not in missing:
                    own = PARTS[name](setting)
                    result_file.show(name, own)
                    rows += own
        finally:
            server.end()
    if not args.parts and (args.rounds, args.seconds) == (ROUNDS, SECONDS):
        config = {"rounds": args.rounds, "seconds": args.seconds, "left out": missing}
        result_file.write("loadgen_agreement", config, rows)


def _in_turns(asks: Sequence[Callable[[], Any]], number: int) -> list[Any]:
    """Each once; who begins changes with the number."""
    answers = [None] * len(asks)
    for place in range(len(asks)):
        turn = (place + number) % len(asks)
        answers[turn] = asks[turn]()
    return answers


def _figures(latencies: NDArray[np.int64]) -> Figures:
    """In nanoseconds, by name."""
    return dict(zip(_FIGURES, percentiles(latencies, tuple(_FIGURES.values())), strict=True))


def _rows(what: str, pairs: Sequence[tuple[Figures, Figures]]) -> list[dict[str, Any]]:
    """Of each figure, in milliseconds."""
    return [
        ratio_row(
            what,
            f"{name} ms",
            [(ours[name] / 1e6, theirs[name] / 1e6) for ours, theirs in pairs],
            TOLERANCE,
        )
        for name in _FIGURES
    ]


if __name__ == "__main__":
    main()
