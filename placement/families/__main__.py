"""``python -m surplus.placement.families NAME --tasks N --seed S > P.json``: a made-up problem."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from surplus.placement.families.registry import FAMILIES, family_problem
from surplus.placement.graph_grower import MachineParams
from surplus.placement.random_widths import with_widths


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a problem and print it.

    Returns
    -------
    int
        0, or 2 with a line that says which option is wrong.
    """
    asked = _parser().parse_args(arguments)
    try:
        machine = MachineParams(asked.cpu_lanes, asked.gpu_lanes)
        problem = family_problem(asked.family, asked.tasks, asked.seed, machine)
        print((with_widths(problem, asked.seed) if asked.widths else problem).to_json())
    except ValueError as error:
        print(f"families: error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:16} {family.summary}" for name, family in FAMILIES.items())
    parser = argparse.ArgumentParser(
        prog="python -m surplus.placement.families",
        description="Print a problem of a family, the same for the same options.",
        epilog=f"families:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("family", choices=tuple(FAMILIES), metavar="NAME", help="one of the families below")
    add("--tasks", type=int, default=200, metavar="N", help="how many, exactly (%(default)s)")
    add("--seed", type=int, default=0, metavar="S", help="of all that is random (%(default)s)")
    add("--cpu-lanes", type=int, default=1, metavar="N", help="CPU workers (%(default)s)")
    add("--gpu-lanes", type=int, default=1, metavar="N", help="GPU streams (%(default)s)")
    add("--widths", action="store_true", help="tasks may take several lanes at once, most of them")
    return parser


if __name__ == "__main__":
    sys.exit(main())
