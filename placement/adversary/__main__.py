"""``python -m surplus.placement.adversary --target auto --against optimum``: worst cases."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from surplus.placement.adversary.search import OPTIMUM, SearchParams, WorstCase, worst_case
from surplus.placement.policy import policy_names

_NS_PER_US = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, say what was found, write it.

    Returns
    -------
    int
        0, or 2 with a line that says which option is wrong.
    """
    asked = _parser().parse_args(arguments)
    try:
        params = SearchParams(
            asked.seed,
            asked.starts,
            asked.steps,
            most_tasks=asked.tasks,
            least_tasks=min(asked.tasks, SearchParams.least_tasks),
        )
        worst = worst_case(asked.target, asked.against, params)
        if asked.output is not None:
            asked.output.write_text(worst.problem.to_json() + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"adversary: error: {error}", file=sys.stderr)
        return 2
    _show(worst, asked)
    return 0


def _parser() -> argparse.ArgumentParser:
    names = policy_names()
    parser = argparse.ArgumentParser(
        prog="python -m surplus.placement.adversary",
        description="Search a small problem, with links as machines have them, on which one policy"
        " takes many times as long as another or as the optimum.",
    )
    add = parser.add_argument
    add(
        "--target",
        default="auto",
        choices=names,
        metavar="NAME",
        help="the policy to put to shame (%(default)s)",
    )
    add(
        "--against",
        default=OPTIMUM,
        choices=(*names, OPTIMUM),
        metavar="NAME",
        help="what it is compared with: a policy or optimum (%(default)s)",
    )
    add("--tasks", type=int, default=8, metavar="N", help="most tasks, up to 8 (%(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="of the search (%(default)s)")
    add("--starts", type=int, default=8, metavar="N", help="random starts (%(default)s)")
    add("--steps", type=int, default=400, metavar="N", help="changes from each (%(default)s)")
    add("-o", "--output", type=Path, metavar="F.json", help="write the problem")
    return parser


def _show(worst: WorstCase, asked: argparse.Namespace) -> None:
    print(
        f"{worst.ratio:.3f}: {asked.target} {worst.target_ns / _NS_PER_US:.1f} us,"
        f" {asked.against} {worst.against_ns / _NS_PER_US:.1f} us,"
        f" {len(worst.problem.tasks)} tasks"
    )


if __name__ == "__main__":
    sys.exit(main())
