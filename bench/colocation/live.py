"""Policies live beside their simulation: the same scenario, queries, controller and figures.

``python -m bench colocation_live [SCENARIO ...]``: of bench/configs/colocation/live. First what the
machine takes is measured (engine colocate profile), then each registered policy that can serve the
scenario is served by the engine in real time, and simulated. A row is a policy; the same command
goes on where it was stopped. ``--times 2`` has queries come twice as often, in a table of its own:
a scenario is easy on a faster machine than it was written for.

The machine's speed wanders by a quarter within seconds. So the simulation beside a live run takes
its speed from the run itself (``infrastructure/pace.py``: time of groups over that of the profile,
by service and by second; ``pace`` is the mean), and what neighbours cost with it; planners and
predictors keep the profile, simulated as live. What such a simulation cannot see is a driver that
slows every group alike: so every service is timed alone right before and after each run, too.
``alone`` is the mean of those times over the profile's, and a driver's cost would show as a pace
above it. On an emulated device times are charged, and all that wanders is the host: there the
simulation has the profile's times and interference, at the pace of ``alone``, and each group waits
for what the controller did before it started it.

That repeats a run, and predicts none. What a user's simulation is worth is in the columns of
``another run`` and ``no pace`` (``out_of_sample.py``): how many points of violations, and what
ratio of p99, a run is from what was simulated at the pace of another run, of another policy and
trace, and from what the profile alone says.

``agrees`` says whether p99 is within 15 % of the simulated one, and violations within 15 % or a
point of theirs. ``wait`` is the longest time in which a service had queries waiting and began none
of them, over its target, of the worst service: above 1 it starved (``results/starvation.py``).
``others %`` is what other processes had of the cores, which no simulation knows of; a run is
repeated while it is too much.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from bench.colocation.out_of_sample import (
    EARLIER_POLICY,
    PREDICTED,
    Prediction,
    earlier,
    errors,
    predictions,
    simulated_at,
)
from bench.infrastructure import result_file
from bench.infrastructure.bystanders import Bystanders
from bench.infrastructure.pace import WINDOW_NS, pace_of
from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import Scenario, policy_names, read_scenario
from surplus.colocation.frame.load import Load
from surplus.colocation.results.comparison import Compared
from surplus.colocation.results.starvation import longest_waits_ns
from surplus.colocation.scenarios.live_file import read_to_measure
from surplus.colocation.simulation.simulator import Run
from surplus.colocation.truths.truth import Pace
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.measure import GroupMeasureParams, query_times_ns
from surplus.engine.scheduling.replay import backend_of, compare_live, measure_scenario

FOLDER = Path(__file__).parents[1] / "configs" / "colocation" / "live"
CACHE = Path(__file__).parents[2] / "build" / "models" / "cache"
ROUNDS = 20
PROBES = 4
TRIES = 2
QUIET = 0.05
"""Largest share of the cores that other processes may have had."""
CLOSE = 0.15
POINT = 0.01
"""Violations that are nearer than this are alike, however few they are."""
HELD, LOST = 0.99, 0.80
TABLE, TIMES = "colocation_live", "times_"


class Bench(NamedTuple):
    """A scenario, ready to be served."""

    scenario: Scenario
    backend: EngineBackend
    probes: int
    tries: int
    quiet: float
    predictions: tuple[Prediction, ...] = ()
    """What is known before a run."""

    def alone(self) -> tuple[float, ...]:
        """Time of a query of each service alone on a lane, now, over the profile's."""
        demand, lane = self.scenario.demand(), 100 // self.scenario.devices[0].lanes
        items = demand.items
        times_ns = query_times_ns(self.backend, items, lane, self.probes)
        return tuple(
            time_ns / demand.latency_ns(k, items[k], lane) for k, time_ns in enumerate(times_ns)
        )

    def simulated(self, run: Run, alone: Sequence[float]) -> tuple[Compared, Pace]:
        """A live run's policy, simulated on the machine as it was."""
        if not self.backend.is_emulated:
            pace = pace_of(self.scenario, run)
            return simulated_at(replace(self.scenario, interference=None), run.policy, pace), pace
        pace = Pace(WINDOW_NS, (1.0,), tuple(alone))
        host_ns = run.record.starting_ns // max(1, len(run.record.group_start_ns))
        return simulated_at(self.scenario, run.policy, pace, host_ns), pace


def measured(bench: Bench, policy: str) -> Row:
    """One row: a policy, live and simulated, in the quietest of so many tries."""
    rows = []
    for _ in range(bench.tries):
        watch = Bystanders()
        try:
            with watch.watched():
                before = bench.alone()
                load, (live,) = compare_live(bench.scenario, [policy], bench.backend)
                after = bench.alone()
        except (ValueError, ConfigError) as error:
            return _refused(policy, str(error))
        alone = [fmean(both) for both in zip(before, after, strict=True)]
        simulated, pace = bench.simulated(live.run, alone)
        row = _row(bench.scenario, load, live, simulated)
        row |= {"pace": _mean(pace), "alone": round(fmean(alone), 3)}
        for known in bench.predictions:
            row |= known.columns(policy, live.summary.total)
        rows.append(row | {"others %": _percent(watch.share), "note": ""})
        if watch.share <= bench.quiet:
            break
    return min(rows, key=lambda row: float(row["others %"]))


def informed(bench: Bench) -> Bench:
    """A bench that has seen one other run."""
    scenario = earlier(bench.scenario)
    _, (other,) = compare_live(scenario, [EARLIER_POLICY], bench.backend)
    known = predictions(bench.scenario, other.run, bench.backend.is_emulated)
    return bench._replace(predictions=known)


def _mean(pace: Pace) -> float:
    return round(fmean(pace.windows) * fmean(pace.services), 3)


def _row(scenario: Scenario, load: Load, live: Compared, simulated: Compared) -> Row:
    ours, theirs = live.summary.total, simulated.summary.total
    ratio = _ratio(ours.p99_ns, theirs.p99_ns)
    return {
        "policy": live.summary.policy,
        "late or lost %": _percent(ours.violations),
        "simulated %": _percent(theirs.violations),
        "p99 ms": _ms(ours.p99_ns),
        "simulated ms": _ms(theirs.p99_ns),
        "p99 ratio": ratio,
        "agrees": _agrees(ratio, ours.violations, theirs.violations),
        "wait": worst_wait(scenario, load, live),
        "simulated wait": worst_wait(scenario, load, simulated),
        "decision us": round(live.summary.decision_mean_ns / 1e3, 1),
    }


def _refused(policy: str, reason: str) -> Row:
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "-")
    return row | {"policy": policy, "note": reason}


COLUMNS = (
    "policy",
    "late or lost %",
    "simulated %",
    "p99 ms",
    "simulated ms",
    "p99 ratio",
    "agrees",
    "wait",
    "simulated wait",
    "decision us",
    "pace",
    "alone",
    *PREDICTED,
    "others %",
    "note",
)


def worst_wait(scenario: Scenario, load: Load, one: Compared) -> float:
    """Longest wait of a service over its target, of the worst service."""
    waits_ns = longest_waits_ns(one.run.record, load, len(scenario.services))
    both = zip(waits_ns, scenario.services, strict=True)
    return round(max(wait_ns / service.slo_ns for wait_ns, service in both), 2)


def _agrees(ratio: float, ours: float, theirs: float) -> str:
    p99 = round(abs(ratio - 1), 3) <= CLOSE
    violations = abs(ours - theirs) <= max(POINT, CLOSE * theirs)
    return {(True, True): "yes", (True, False): "p99", (False, True): "violations"}.get(
        (p99, violations), "no"
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)


def _ms(time_ns: int | None) -> float | None:
    return None if time_ns is None else round(time_ns / 1e6, 2)


def _ratio(ours_ns: int | None, theirs_ns: int | None) -> float:
    if ours_ns is None or theirs_ns is None:
        return 1.0 if ours_ns == theirs_ns else float("inf")
    return round(ours_ns / theirs_ns, 3)


def bars(name: str, rows: Sequence[Row]) -> Row:
    """What a scenario's table comes to."""
    ran = [row for row in rows if not row["note"]]
    best = min(ran, key=lambda row: float(row["late or lost %"]))
    fcfs = next(row for row in ran if row["policy"] == "fcfs")
    close = [row["agrees"] for row in ran]
    held = 100 - float(best["late or lost %"])
    lost = 100 - float(fcfs["late or lost %"])
    starved = [row["policy"] for row in ran if float(row["wait"]) > 1]
    ours = [100 - float(row["late or lost %"]) for row in ran if row["policy"] == "surplus"]
    return {
        "scenario": name,
        "policies": f"{len(ran)} of {len(rows)}",
        "p99 within 15 %": sum(word in ("yes", "p99") for word in close),
        "violations too": close.count("yes"),
        **errors(ran, CLOSE),
        "starved under": ", ".join(starved) or "none",
        "best": best["policy"],
        "its % in time": round(held, 2),
        "surplus": round(ours[0], 2) if ours else "-",
        "fcfs": round(lost, 2),
        "99 and < 80 %": "yes" if held >= 100 * HELD and lost < 100 * LOST else "no",
    }


def table_of(name: str, times: float = 1) -> str:
    """The name of a scenario's table, where queries come so many times as often."""
    return f"{TABLE}_{name}" + ("" if times == 1 else f"_{TIMES}{times:g}")


def run(path: Path, args: argparse.Namespace) -> None:
    """Measure rows of one scenario's table that are missing, and store it when it is complete."""
    config = {"scenario": path.name, "rounds": args.rounds, "probes": args.probes}
    config |= {} if args.times == 1 else {"times": args.times}
    table = Table(table_of(path.stem, args.times), config, ("policy",), anew=args.anew)
    keys: list[Key] = [(name,) for name in args.policies or policy_names()]
    asked = read_to_measure(path)
    assert asked.path is not None, "its services read measured profiles"
    if (args.anew and args.times == 1) or not asked.path.exists():
        found = measure_scenario(asked, GroupMeasureParams(args.rounds), CACHE, print)
        asked.path.write_text(found.to_json(), encoding="utf-8")
    if table.missing(keys):
        scenario = read_scenario(path).scaled(args.times)
        backend = backend_of(scenario, CACHE)
        bench = informed(Bench(scenario, backend, args.probes, args.tries, args.quiet))
        fill_within(table, keys, lambda key: _told(measured(bench, key[0])), args.seconds)
    else:
        table.finish(keys)
    result_file.show(path.stem, table.rows)


def _told(row: Row) -> Row:
    print(*row.values(), file=sys.stderr, flush=True)
    return row


def store_bars() -> None:
    """One row a scenario, of all tables that are complete."""
    rows = [
        bars(label, result_file.read_rows(stored))
        for path in sorted(FOLDER.glob("*.toml"))
        for label, stored in stored_of(path.stem)
    ]
    result_file.write(f"{TABLE}_bars", {"close": CLOSE, "point": POINT}, rows)
    result_file.show(f"{TABLE}_bars", rows)


def stored_of(name: str) -> list[tuple[str, Path]]:
    """A scenario's tables as they are called and where they are, at all loads."""
    plain = result_file.path_of(table_of(name))
    found = [(name, plain)] if plain.exists() else []
    louder = result_file.RESULTS.glob(f"{TABLE}_{name}_{TIMES}*[0-9].json*")  # no .part.json
    for path in sorted(louder):
        times = path.name.partition(TIMES)[2].partition(".json")[0]
        found.append((f"{name}, {times} times as often", path))
    return found


def main() -> None:
    """Measure the scenarios that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("scenarios", nargs="*", metavar="SCENARIO", help="names of files, without suffix")
    add("--policies", type=lambda text: text.split(","), metavar="NAME,...", help="only these")
    add("--rounds", type=int, default=ROUNDS, help="samples of each time in the profile")
    add("--probes", type=int, default=PROBES, help="samples before and after each run")
    add("--tries", type=int, default=TRIES, help="runs of a policy until one is quiet")
    add("--quiet", type=float, default=QUIET, help="what other processes may have of the cores")
    add("--times", type=float, default=1, metavar="X", help="as many queries (%(default)g)")
    add("--anew", action="store_true", help="drop earlier rows and the profile")
    add("--bars", action="store_true", help="only sum up what is stored")
    add_budget(parser)
    args = parser.parse_args()
    names = args.scenarios or sorted(path.stem for path in FOLDER.glob("*.toml"))
    for name in [] if args.bars else names:
        run(FOLDER / f"{name}.toml", args)
    if args.bars:
        store_bars()


if __name__ == "__main__":
    main()
