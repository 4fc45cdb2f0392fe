"""``engine simulate``: policies of co-location side by side, on a virtual clock."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.output import (
    check_chart,
    check_outputs,
    check_plot,
    show_json,
)
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.scenario_options import add_scenario, asked_policies
from surplus.engine.cli.simulate_plots import check_loads, draw_comparison, parse_loads
from surplus.engine.cli.simulate_report import (
    Simulated,
    draw_first,
    lived_too,
    show_simulation,
    simulation_document,
)
from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.colocation import Compared, Scenario
    from surplus.colocation.frame.load import Load

_SUMMARY = "compare policies that serve several models under latency targets"
_EXAMPLE = """
engine simulate bench/configs/colocation/two_services.toml --policy all
engine simulate pair.toml --data abacus_a100_pairs --policy fcfs,clockwork --json --gantt g.html
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
    add("--plot", type=Path, metavar="P.html|P.svg", help="draw goodput and p99 of each service")
    add("--loads", metavar="X,...", help="with --plot: goodput at so many times the rates, too")
    add("--live", action="store_true", help="serve the load by the engine, too, in real time")
    options.add_cache(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Simulate every policy, print tables or JSON, write what was asked for."""
    from dataclasses import replace

    from surplus.colocation import read_scenario
    from surplus.colocation.clairvoyant import scenario_bound

    check_chart(args.gantt)
    check_plot(args.plot)
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
    lived = lived_too(scenario, names, args.cache) if args.live else []
    bound = scenario_bound(scenario, load)
    found = Simulated(scenario, load, compared, lived, refused, bound)
    if args.gantt:
        draw_first(args.gantt, found)
    if args.plot:
        draw_comparison(args.plot, scenario, compared, bound, loads)
    if args.json:
        show_json(simulation_document(found, args.timing))
    else:
        show_simulation(found, args.timing, in_order=args.policy == "all")
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
