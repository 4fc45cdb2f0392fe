"""What ``engine optimum`` writes: the placement, its timeline, how the search went."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surplus.engine.cli.output import check_chart, check_outputs

if TYPE_CHECKING:
    from surplus.engine.dfg.graph import Graph
    from surplus.milp import Result
    from surplus.placement import Problem


def check_files(args: argparse.Namespace) -> None:
    """Refuse what cannot be written, before anything is searched for."""
    from surplus.milp.plot import check_plot

    check_outputs(args.output, args.problem, args.plot)
    check_chart(args.gantt)
    if args.plot:
        check_plot(args.plot)


def write_files(args: argparse.Namespace, graph: Graph, problem: Problem, result: Result) -> None:
    """Write what was asked for; ``result`` has a plan."""
    from surplus.engine.planning.placement_file import save_placement
    from surplus.engine.report.gantt import write_gantt
    from surplus.milp.plot import write_plot

    assert result.placement is not None
    assert result.timeline is not None
    if args.output:
        save_placement(args.output, graph, problem, result.placement)
    if args.gantt:
        write_gantt(args.gantt, result.timeline, title=f"{graph.name}: optimum ({result.status})")
    if args.plot:
        write_plot(args.plot, result, graph.name)
