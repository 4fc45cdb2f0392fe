"""``engine capacity``: the highest load that each policy holds, and that any could."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.load_limits import show_need
from surplus.engine.cli.output import check_page, show_json, show_rows, three_digits
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar
from surplus.engine.cli.scenario_options import add_scenario, asked_policies
from surplus.engine.planning.progress import ProgressCallback

if TYPE_CHECKING:
    from surplus.colocation import Scenario
    from surplus.colocation.results.capacity import Capacity, CapacityParams
    from surplus.colocation.results.capacity_search import Probe

_SUMMARY = "search the highest load that policies keep within their latency targets"
_EXAMPLE = """
engine capacity bench/configs/colocation/two_services.toml
engine capacity two_services.toml --policy all --target 0.95 --seeds 5 --plot capacity.html
engine capacity two_services.toml --policy edf_drop,nexus --each --duration 60 --json
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "capacity", _SUMMARY, _EXAMPLE, run)
    add_scenario(parser, "its rates are the load of scale 1")
    add = parser.add_argument
    target = "share of the queries to be answered in time (default %(default)s)"
    add("--target", type=float, default=0.99, metavar="SHARE", help=target)
    add("--each", action="store_true", help="of every service, not of all together")
    add("--seeds", type=int, default=3, metavar="N", help="loads to draw (default %(default)s)")
    finer = "distance of the answer from the next load that is missed (default %(default)s)"
    add("--tolerance", type=float, default=0.02, metavar="PART", help=finer)
    add("--duration", type=float, metavar="SECONDS", help="of a load, instead of the scenario's")
    add("--plot", type=Path, metavar="P.html", help="draw goodput against load")
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Search for each policy; one that cannot serve the scenario says why."""
    from surplus.colocation.results.capacity import BOUND, CapacityParams
    from surplus.colocation.results.capacity_search import SearchParams

    check_page(args.plot)
    params = CapacityParams(
        target=args.target,
        seeds=args.seeds,
        each=args.each,
        search=SearchParams(tolerance=args.tolerance),
    )
    scenario = _scenario(args)
    with progress_bar() as report:
        names = [*asked_policies(args.policy, scenario), BOUND]
        found, refused = _search(scenario, names, params, report)
    if args.plot:
        _draw(args.plot, scenario, found, params)
    if args.json:
        show_json(_document(scenario, params, found, refused))
    else:
        _show(scenario, params, found, refused)
    return 0


def _scenario(args: argparse.Namespace) -> Scenario:
    from surplus.colocation import read_scenario
    from surplus.colocation.frame.clock import NS_PER_S
    from surplus.colocation.results.comparison import check_targets

    scenario = read_scenario(args.scenario, args.data)
    if args.duration is not None:
        if not 0 < args.duration < 1e6:
            raise ValueError(f"--duration: expected seconds > 0, got {args.duration}")
        scenario = replace(scenario, duration_ns=round(args.duration * NS_PER_S))
    check_targets(scenario)
    if not len(scenario.load()):
        seconds = scenario.duration_ns / NS_PER_S
        text = f"no query comes in {seconds:g} s, any load would be held"
        raise ValueError(f"{scenario.name}: {text}")
    return scenario


def _search(
    scenario: Scenario, names: Sequence[str], params: CapacityParams, report: ProgressCallback
) -> tuple[list[Capacity], dict[str, str]]:
    from surplus.colocation.results.capacity import capacity_of

    found: list[Capacity] = []
    refused: dict[str, str] = {}
    for place, name in enumerate(names):
        report("policies", place, len(names))
        told = _counter(name, report)
        try:
            found.append(capacity_of(scenario, name, params, told))
        except ValueError as error:
            refused[name] = str(error).removeprefix(f"{name}: ")
    report("policies", len(names), len(names))
    return found, refused


def _counter(name: str, report: ProgressCallback) -> Callable[[Probe], None]:
    """Report one load more each time; how many there will be is not known before."""
    probes: list[Probe] = []

    def told(probe: Probe) -> None:
        probes.append(probe)
        report(name, len(probes), len(probes) + 1)

    return told


def _document(
    scenario: Scenario, params: CapacityParams, found: Sequence[Capacity], refused: dict[str, str]
) -> dict[str, Any]:
    return {
        "scenario": scenario.name,
        "seeds": [scenario.seed + k for k in range(params.seeds)],
        "target": params.target,
        "each_service": params.each,
        "policies": [one.to_dict() for one in found],
        "refused": refused,
    }


def _show(
    scenario: Scenario, params: CapacityParams, found: Sequence[Capacity], refused: dict[str, str]
) -> None:
    from surplus.colocation.clairvoyant import scenario_bound

    whose = "each service" if params.each else "all queries"
    title = f"{scenario.name}: load at which {params.target:.4g} of {whose} is in time"
    show_rows(f"{title}, {params.seeds} seeds", [_row(one) for one in found])
    for one in found:
        if one.found.held_above is not None:
            text = f"also holds {one.found.held_above:.3f}, above a load that it does not"
            print(f"{one.policy}: not monotone, {text}")
    for name, reason in refused.items():
        print(f"{name}: cannot serve this scenario, {reason}")
    show_need(scenario, scenario_bound(scenario))


def _row(one: Capacity) -> dict[str, str]:
    found = one.found
    row = {"policy": one.policy, "queries/s": three_digits(one.rate_per_s)}
    row |= {"scale": f"{found.scale:.3f}"}
    held = [probe for probe in found.probes if probe.scale == found.scale]
    worst = f"{held[0].least:.2%} to {held[0].most:.2%}" if held else "-"
    missed = "-" if found.missed_scale is None else f"{found.missed_scale:.3f}"
    return row | {"seeds there": worst, "missed at": missed, "loads": str(len(found.probes))}


def _draw(
    path: Path, scenario: Scenario, found: Sequence[Capacity], params: CapacityParams
) -> None:
    from surplus.engine.report.charts import Chart, Series, write_charts

    series = tuple(
        Series(one.policy, tuple((p.scale, 100 * p.goodput) for p in one.found.probes))
        for one in found
    )
    text = f"Goodput against load ({params.seeds} seeds, target {params.target:.4g})"
    chart = Chart(text, "load, in rates of the scenario", "answered in time, %", series, y_most=100)
    write_charts(path, [chart], scenario.name)
