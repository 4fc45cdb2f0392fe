"""Policies live beside their simulation: the same scenario, queries, controller and figures.

``python -m bench.colocation_live [SCENARIO ...]``: of bench/configs/colocation/live. First what the
machine takes is measured (engine colocate profile), then each policy is simulated with that, and
served by the engine in real time. ``other_cpu`` is the share of this machine's cores that other
processes had meanwhile, which no simulation knows of; a run is repeated while it is too large.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import result_file
from bench.resumable import Table, fill
from colocation import Scenario, compare, policy_names, read_scenario
from colocation.comparison import Compared
from colocation.live_file import read_to_measure
from engine.live.backend import EngineBackend
from engine.live.measure import MeasureParams
from engine.live.replay import backend_of, compare_live, measure_scenario

FOLDER = Path(__file__).parent / "configs" / "colocation" / "live"
ROUNDS = 30
TRIES = 3
QUIET = 0.05
"""Largest share of the cores that other processes may have had."""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Bystanders:
    """CPU time of other processes, while it is watched.

    Attributes
    ----------
    share : float
        Of all cores' time.
    """

    def __init__(self) -> None:
        self.share = 0.0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch for as long as the block runs."""
        began, busy_s, own_s = time.monotonic(), _busy_s(), time.process_time()
        yield
        spent_s = (time.monotonic() - began) * (os.cpu_count() or 1)
        others_s = _busy_s() - busy_s - (time.process_time() - own_s)
        self.share = min(1.0, max(0.0, others_s / spent_s))  # ticks are coarse


def _busy_s() -> float:
    """What all cores worked since the machine started."""
    line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    ticks = [int(word) for word in line.split()[1:]]
    user, nice, system, _, _, interrupts, soft_interrupts, steal = ticks[:8]
    return (user + nice + system + interrupts + soft_interrupts + steal) * _TICK_S


def measured(
    scenario: Scenario, backend: EngineBackend, policy: str, tries: int, quiet: float
) -> dict[str, Any]:
    """One row: a policy, simulated and live, in the quietest of so many tries."""
    (simulated,) = compare(scenario, [policy])[1]
    rows = []
    for _ in range(tries):
        watch = Bystanders()
        with watch.watched():
            (live,) = compare_live(scenario, [policy], backend)[1]
        rows.append(_row(scenario, simulated, live) | {"other_cpu": round(watch.share, 3)})
        if watch.share <= quiet:
            break
    return min(rows, key=lambda row: float(row["other_cpu"]))


def _row(scenario: Scenario, simulated: Compared, live: Compared) -> dict[str, Any]:
    ours, theirs = live.summary, simulated.summary
    return {
        "scenario": scenario.name,
        "policy": ours.policy,
        "violations": round(ours.total.violations, 4),
        "simulated": round(theirs.total.violations, 4),
        "p99_ms": _ms(ours.total.p99_ns),
        "simulated_p99_ms": _ms(theirs.total.p99_ns),
        "p99_ratio": _ratio(ours.total.p99_ns, theirs.total.p99_ns),
        "service_p99_ratios": [
            _ratio(a.p99_ns, b.p99_ns) for a, b in zip(ours.services, theirs.services, strict=True)
        ],
        "least_goodput": round(min(tally.goodput for tally in ours.services), 4),
        "least_served": round(
            min((t.in_time + t.late) / max(1, t.offered) for t in ours.services), 4
        ),
        "used": round(ours.utilisation, 3),
        "decision_us": round(ours.decision_mean_ns / 1e3, 1),
    }


def _ms(time_ns: int | None) -> float | None:
    return None if time_ns is None else round(time_ns / 1e6, 2)


def _ratio(ours_ns: int | None, theirs_ns: int | None) -> float:
    if ours_ns is None or theirs_ns is None:
        return 1.0 if ours_ns == theirs_ns else float("inf")
    return round(ours_ns / theirs_ns, 3)


def run(path: Path, cache: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure one scenario's table, and store it."""
    asked = read_to_measure(path)
    assert asked.path is not None, "its services read measured profiles"
    if args.anew or not asked.path.exists():
        found = measure_scenario(asked, MeasureParams(args.rounds), cache, print)
        asked.path.write_text(found.to_json(), encoding="utf-8")
    scenario = read_scenario(path)
    unknown = set(scenario.policies) - set(policy_names())
    assert not unknown, unknown
    backend = backend_of(scenario, cache)
    config = {"scenario": path.name, "rounds": args.rounds, "quiet": args.quiet}
    table = Table(f"colocation_live_{path.stem}", config, ("policy",), anew=args.anew)
    keys = [(name,) for name in scenario.policies]
    return fill(
        table, keys, lambda key: measured(scenario, backend, key[0], args.tries, args.quiet)
    )


def main() -> None:
    """Measure the scenarios that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("scenarios", nargs="*", metavar="SCENARIO", help="names of files, without suffix")
    add("--rounds", type=int, default=ROUNDS, help="samples of each time in the profile")
    add("--tries", type=int, default=TRIES, help="runs of a policy until one is quiet")
    add("--quiet", type=float, default=QUIET, help="what other processes may have of the cores")
    add("--anew", action="store_true", help="drop earlier rows and the profile")
    args = parser.parse_args()
    cache = Path(__file__).parent.parent / "build" / "models" / "cache"
    names = args.scenarios or sorted(path.stem for path in FOLDER.glob("*.toml"))
    for name in names:
        result_file.show(name, run(FOLDER / f"{name}.toml", cache, args))


if __name__ == "__main__":
    main()
