"""``engine place``: which device runs each operator, and what that is predicted to cost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from surplus.engine.cli import options
from surplus.engine.cli.asked import asked_problem
from surplus.engine.cli.emit_options import add_exports, check_emit, write_emitted
from surplus.engine.cli.output import check_chart, check_outputs, show_json
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.place_annealed import add_time, annealed, check_time
from surplus.engine.cli.place_document import place_document
from surplus.engine.cli.place_noise import add_noise, asked_policy, promised, show_promise
from surplus.engine.cli.place_report import show_placed
from surplus.engine.cli.place_throughput import (
    THROUGHPUT,
    add_front,
    check_front,
    placed_for_throughput,
    show_for_throughput,
)
from surplus.placement import common_table, lower_bounds, placement_table, policy_names, simulate

_SUMMARY = "decide which device runs each operator, and predict what that costs"
_EXAMPLE = """
engine place model.onnx --profile P.json -o placement.json --gantt g.html
engine place model.onnx --profile P.json --policy comm_sd --option alpha_ns=50000 --all
engine place model.onnx --profile P.json --gpu-memory 4GiB --emit onnxruntime out
engine place model.onnx --profile P.json --objective p95 --noise 0.3
engine place model.onnx --profile P.json --time 10
engine place model.onnx --profile P.json --objective throughput --front
"""
_PAPER = ("single", "qd_all", "qd", "sd", "comm_sd")


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "place", _SUMMARY, _EXAMPLE, run)
    options.add_model(parser)
    options.add_profile(parser, required=True)
    options.add_policy(parser)
    add_noise(parser)
    options.add_gpu_memory(parser)
    options.add_widths(parser)
    options.add_kernels_of_profile(parser)
    add_time(parser)
    add_front(parser)
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="F.json", help="write the placement")
    add("--gantt", type=Path, metavar="G.html|G.png", help="draw the predicted timeline")
    add("--all", action="store_true", help="compare every policy, not only the paper's five")
    add_exports(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Place, print SIR+'s Tables 1-3 for the model, write what was asked for."""
    from surplus.engine.planning.placement_file import save_placement
    from surplus.engine.planning.policy_check import check_policy
    from surplus.engine.planning.stages import place
    from surplus.engine.report.gantt import write_gantt

    policy, chosen_options = asked_policy(args)
    check_policy(policy, chosen_options)
    check_time(args.time)
    check_front(args)
    check_outputs(args.output, args.problem)
    check_chart(args.gantt)
    check_emit(args)
    graph, problem = asked_problem(args)
    placements = {n: place(problem, n) for n in (policy_names() if args.all else _PAPER)}
    placements[policy] = chosen = place(problem, policy, chosen_options)
    busy = None
    if args.objective == THROUGHPUT:
        busy = placed_for_throughput(args, problem, placements)
        chosen = busy.chosen
    elif args.time:
        placements["anneal"] = chosen = annealed(problem, chosen, args.time)
    rows = placement_table(problem, list(placements.values()))
    common = common_table(problem, placements["sd"], chosen)
    if args.problem:
        args.problem.write_text(problem.to_json(), encoding="utf-8")
    if args.output:
        save_placement(args.output, graph, problem, chosen)
    write_emitted(args, graph, problem, chosen)
    if args.gantt:
        write_gantt(args.gantt, simulate(problem, chosen), title=f"{graph.name}: {chosen.policy}")
    promise = promised(args, problem, chosen)
    if args.json:
        show_json(place_document(problem, chosen, rows, common, promise, busy))
    elif busy is not None:
        show_for_throughput(graph.name, busy)
    else:
        show_placed(graph.name, rows, common, lower_bounds(problem), chosen.policy)
    if promise is not None and not args.json:
        show_promise(args, promise)
    return 0
