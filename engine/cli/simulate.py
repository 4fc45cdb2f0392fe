"""``engine simulate``: policies of co-location side by side, on a virtual clock."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.load_limits import show_need
from surplus.engine.cli.output import (
    check_chart,
    check_outputs,
    check_page,
    show_json,
)
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.scenario_options import add_scenario, asked_policies
from surplus.engine.cli.simulate_plots import check_loads, draw_comparison, parse_loads
from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.colocation import Compared, Scenario
    from surplus.colocation.frame.load import Load

_SUMMARY = "compare policies that serve several models under latency targets"
_EXAMPLE = """
engine simulate bench/configs/colocation/two_services.toml --policy all
engine simulate pair.toml --data abacus_a100_pairs --policy fcfs,clockwork --json
engine simulate pair.toml --policy edf_drop --gantt g.html
engine simulate pair.toml --plot p.html --loads 0.5,1,1.5,2
engine simulate bench/configs/colocation/live/two_cpu.toml --live
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "simulate", _SUMMARY, _EXAMPLE, run)
    add_scenario(parser, "services, load, devices, policies")
    add = parser.add_argument
    add("--seed", type=int, metavar="N", help="instead of the scenario's")
    add("--timing", action="store_true", help="add decision times, which differ between runs")
    add("--gantt", type=Path, metavar="G.html|G.png", help="draw the first policy's first second")
    add("--plot", type=Path, metavar="P.html", help="draw goodput and p99 of each service")
    add("--loads", metavar="X,...", help="with --plot: goodput at so many times the rates, too")
    add("--live", action="store_true", help="serve the load by the engine, too, in real time")
    options.add_cache(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate every policy, print tables or JSON, write what was asked for."""
    from dataclasses import replace

    from surplus.colocation import read_scenario
    from surplus.colocation.clairvoyant import scenario_bound
    from surplus.engine.cli.simulate_tables import ranked, show_beside, show_compared

    check_chart(args.gantt)
    check_page(args.plot)
    check_outputs(args.gantt, args.plot)
    loads = parse_loads(args.loads)
    if loads and not args.plot:
        raise ConfigError("--loads needs --plot: it says for which loads to draw goodput")
    scenario = read_scenario(args.scenario, args.data)
    if args.seed is not None:
        scenario = replace(scenario, seed=args.seed)
    check_loads(scenario, loads)
    names = asked_policies(args.policy, scenario)
    load, compared, refused = _compared(scenario, names, able=args.policy == "all")
    names = [one.summary.policy for one in compared]
    bound = scenario_bound(scenario, load)
    lived = _lived(scenario, names, args.cache) if args.live else []
    if args.gantt:
        _draw(args.gantt, scenario, load, (lived or compared)[0])
    if args.plot:
        draw_comparison(args.plot, scenario, compared, bound, loads)
    if args.json:
        document = _document(scenario, compared, lived, args.timing)
        show_json(document | {"bound": bound.to_dict(), "refused": refused})
    else:
        show_compared(
            f"{scenario.name}: {len(load)} queries, simulated",
            ranked(compared) if args.policy == "all" else compared,
            args.timing,
            bound,
        )
        for name, reason in refused.items():
            print(f"{name}: cannot serve this scenario, {reason}")
        show_need(scenario, bound)
        if lived:
            show_compared(f"{scenario.name}: {len(load)} queries, live", lived, args.timing)
            show_beside(compared, lived)
    return 0


def _compared(
    scenario: Scenario, names: Sequence[str], able: bool
) -> tuple[Load, list[Compared], dict[str, str]]:
    """Of all policies those that can; of named ones every one, or an error."""
    from surplus.colocation import compare
    from surplus.colocation.results.comparison import compare_able

    if able:
        return compare_able(scenario, names)
    return (*compare(scenario, names), {})


def _lived(scenario: Scenario, names: Sequence[str], cache: Path | None) -> list[Compared]:
    from surplus.engine.scheduling.replay import backend_of, compare_live

    return compare_live(scenario, names, backend_of(scenario, cache))[1]


def _document(
    scenario: Scenario, compared: Sequence[Compared], lived: Sequence[Compared], timing: bool
) -> dict[str, Any]:
    document: dict[str, Any] = {"scenario": scenario.name, "seed": scenario.seed}
    document["policies"] = [one.summary.to_dict(timing) for one in compared]
    if lived:
        document["live"] = [one.summary.to_dict(timing) for one in lived]
    return document


def _draw(path: Path, scenario: Scenario, load: Load, first: Compared) -> None:
    from surplus.colocation.frame.clock import NS_PER_S
    from surplus.colocation.results.timeline import timeline_of
    from surplus.engine.report.gantt import write_gantt

    services, devices = scenario.services, scenario.devices
    timeline = timeline_of(first.run, load, services, devices, NS_PER_S)
    write_gantt(path, timeline, title=f"{scenario.name}: {first.run.policy}")
