"""``engine study``: placement policies side by side on many made-up or stored problems."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.output import check_outputs, check_plot, show_json, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.study_problems import asked_problems, known_policies

if TYPE_CHECKING:
    from surplus.placement.study import StudyRow

_SUMMARY = "compare placement policies on families of problems, or on problems in files"
_EXAMPLE = """
engine study --families detector,inception --tasks 60,200 --seeds 5 --plot study.html
engine study --problems problems/ --policies heft,auto --json
"""
_POLICIES = ("single", "comm_sd", "comm_sd_best", "heft", "peft", "auto")


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "study", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add("--families", default="", metavar="F,...", help="of made-up problems (default: all)")
    add("--tasks", default="60,200", metavar="N,...", help="sizes (default %(default)s)")
    add("--seeds", type=int, default=3, metavar="N", help="of each family and size (%(default)s)")
    add("--problems", type=Path, metavar="FOLDER", help="problems in JSON instead of made-up ones")
    add(
        "--policies",
        default=",".join(_POLICIES),
        metavar="P,...",
        help="default %(default)s; all: every one",
    )
    add(
        "--plot",
        type=Path,
        metavar="P.html|P.svg|P.png",
        help="performance profiles; as .html a page to look around in",
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Place, print a line a policy or JSON, draw what was asked for."""
    from surplus.engine.cli.progress import progress_bar
    from surplus.placement.study import study, summary

    check_plot(args.plot)
    check_outputs(args.plot)
    policies = known_policies(args.policies)
    instances = asked_problems(args)
    with progress_bar() as report:
        rows = study(instances, policies, lambda done: report("problems", done, len(instances)))
    if args.plot:
        _draw(args.plot, rows)
    if args.json:
        show_json({"format": "surplus-study/1", "rows": [row.to_dict() for row in rows]})
    else:
        show_rows(f"{len(instances)} problems, makespan over the lower bound", summary(rows))
    return 0


def _draw(path: Path, rows: Sequence[StudyRow]) -> None:
    from surplus.engine.atomic_file import write_atomic
    from surplus.engine.report.charts import Chart, Series, write_charts
    from surplus.engine.report.study_html import study_page
    from surplus.placement.study import performance_profiles

    title = "Placement policies"
    if path.suffix.lower() in (".html", ".htm"):
        write_atomic(path, study_page(rows, title).encode())
        return
    series = tuple(Series(name, steps) for name, steps in performance_profiles(rows).items())
    words = ("factor of the best policy's makespan", "share of the problems")
    chart = Chart("Problems that a policy places within a factor of the best", *words, series)
    write_charts(path, [chart], title)
