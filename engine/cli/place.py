"""``engine place``: which device runs each operator, and what that is predicted to cost."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.cli.options import add_model, add_policy, pairs
from engine.report.tables import print_rows
from placement import lower_bounds, policy_names, simulate
from placement.table import PlacementRow, common_table, placement_table


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = verbs.add_parser("place", help=__doc__.split("\n")[0], description=__doc__)
    add_model(parser)
    add_policy(parser)
    parser.add_argument("--profile", type=Path, required=True, metavar="P.json")
    parser.add_argument("-o", "--output", type=Path, metavar="placement.json")
    parser.add_argument("--gantt", type=Path, metavar="G.html|G.png", help="draw the prediction")
    parser.add_argument("--all", action="store_true", help="compare every policy")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Place, print SIR+'s Tables 1-3 for the model, write what was asked for."""
    from engine.pipeline.placement_file import save_placement
    from engine.pipeline.stages import place, read_model
    from engine.profiling.costs import problem_of
    from engine.profiling.profile import Profile
    from engine.report.gantt import write_gantt

    graph = read_model(args.model, args.cache)
    profile = Profile.load(args.profile)
    problem = problem_of(graph, profile, profile.device_specs())
    options = pairs(args.option)
    chosen = place(problem, args.policy, options)
    names = policy_names() if args.all else ["single", "qd_all", "qd", "sd", "comm_sd"]
    placements = {name: place(problem, name) for name in names} | {args.policy: chosen}
    rows = placement_table(problem, list(placements.values()))
    common = common_table(problem, placements["sd"], chosen)
    bounds = lower_bounds(problem)
    if args.output:
        save_placement(args.output, graph, problem, chosen)
    if args.gantt:
        write_gantt(args.gantt, simulate(problem, chosen), title=f"{graph.name}: {args.policy}")
    if args.json:
        document = {
            "policies": [row.to_dict() for row in rows],
            "common_with_sd": [row.to_dict() for row in common],
            "lower_bound_ns": bounds.makespan_ns,
        }
        print(json.dumps(document, indent=1))
        return 0
    print_rows(f"{graph.name}: placements, simulated (SIR+ Tables 1 and 2)", flat_rows(rows))
    print_rows("tasks in common with sd (SIR+ Table 3)", [row.to_dict() for row in common])
    print(
        f"lower bound {bounds.makespan_ns / 1e6:.3f} ms"
        f" (path {bounds.path_ns / 1e6:.3f}, load {bounds.load_ns / 1e6:.3f})"
    )
    return 0


def flat_rows(rows: Sequence[PlacementRow]) -> list[dict[str, Any]]:
    """One flat row a policy: what fits a terminal."""
    baseline = rows[0].makespan_ns
    return [
        {
            "policy": row.policy,
            "moved": row.tasks_moved,
            "makespan ms": row.makespan_ns / 1e6,
            "vs single": f"{100 * (row.makespan_ns / baseline - 1):+.1f} %",
            "gap": f"{100 * row.gap:.0f} %",
            "queue µs": "/".join(f"{d.queueing_ns / 1e3:.0f}" for d in row.devices),
            "service ms": "/".join(f"{d.service_ns / 1e6:.1f}" for d in row.devices),
            "use %": "/".join(f"{100 * d.utilisation:.0f}" for d in row.devices),
            "copies": row.copies,
            "MB": row.copied_bytes / 1e6,
            "copy ms": row.copy_ns / 1e6,
        }
        for row in rows
    ]
