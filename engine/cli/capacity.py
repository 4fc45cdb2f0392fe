"""``engine capacity``: the highest load that each policy holds, and that any could."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.capacity_report import capacity_document, draw_capacity, show_capacity
from surplus.engine.cli.output import check_plot, show_json
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.progress import progress_bar
from surplus.engine.cli.scenario_options import add_scenario, asked_policies, scenario_of
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
    add("--plot", type=Path, metavar="P.html|P.svg", help="draw goodput against load")
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Search for each policy; one that cannot serve the scenario says why."""
    from surplus.colocation.results.capacity import BOUND, CapacityParams
    from surplus.colocation.results.capacity_search import CapacitySearchParams

    check_plot(args.plot)
    params = CapacityParams(
        target=args.target,
        seeds=args.seeds,
        each=args.each,
        search=CapacitySearchParams(tolerance=args.tolerance),
    )
    scenario = scenario_of(args)
    with progress_bar() as report:
        names = [*asked_policies(args.policy, scenario), BOUND]
        found, refused = _search(scenario, names, params, report)
    if args.plot:
        draw_capacity(args.plot, scenario, found, params)
    if args.json:
        show_json(capacity_document(scenario, params, found, refused))
    else:
        show_capacity(scenario, params, found, refused)
    return 0


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
