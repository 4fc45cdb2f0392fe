"""``engine study``: placement policies side by side on many made-up or stored problems."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surplus.engine.cli import options
from surplus.engine.cli.output import check_outputs, check_plot, show_json, show_rows
from surplus.engine.cli.parser import add_verb
from surplus.engine.errors import ConfigError
from surplus.placement import policy_names

if TYPE_CHECKING:
    from surplus.placement.study import Instance, StudyRow

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
    policies = _policies(args.policies)
    instances = list(_stored(args.problems) if args.problems else _made_up(args))
    with progress_bar() as report:
        rows = study(instances, policies, lambda done: report("problems", done, len(instances)))
    if args.plot:
        _draw(args.plot, rows)
    if args.json:
        show_json({"format": "surplus-study/1", "rows": [row.to_dict() for row in rows]})
    else:
        show_rows(f"{len(instances)} problems, makespan over the lower bound", summary(rows))
    return 0


def _policies(text: str) -> list[str]:
    names = policy_names() if text == "all" else [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in policy_names()]:
        known = ", ".join(policy_names())
        raise ConfigError(f"--policies: unknown policy {unknown[0]!r}; there are: {known}")
    if not names:
        raise ConfigError("--policies: at least one is needed")
    return names


def _made_up(args: argparse.Namespace) -> Iterator[Instance]:
    from surplus.placement.families import FAMILIES, family_problem
    from surplus.placement.study import Instance

    families = [name for name in args.families.split(",") if name] or list(FAMILIES)
    if unknown := [name for name in families if name not in FAMILIES]:
        known = ", ".join(FAMILIES)
        raise ConfigError(f"--families: unknown family {unknown[0]!r}; there are: {known}")
    if args.seeds < 1:
        raise ConfigError(f"--seeds must be >= 1, got {args.seeds}")
    for family in families:
        for tasks in _sizes(args.tasks):
            for seed in range(args.seeds):
                name = f"{family}-{tasks}-{seed}"
                yield Instance(name, family, family_problem(family, tasks, seed))


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",") if word]
    except ValueError as error:
        raise ConfigError(f"--tasks must be whole numbers between commas, got {text!r}") from error
    if not sizes:
        raise ConfigError("--tasks: at least one size is needed")
    return sizes


def _stored(folder: Path) -> Iterator[Instance]:
    from surplus.placement import Problem
    from surplus.placement.study import Instance

    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ConfigError(f"{folder}: there is no problem (*.json)")
    for path in paths:
        try:
            problem = Problem.from_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
        yield Instance(path.stem, folder.name, problem)


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
