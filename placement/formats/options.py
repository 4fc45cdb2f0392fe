"""The options with which commands take a problem file."""

from __future__ import annotations

import argparse
from pathlib import Path

from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.reading import read_problem
from surplus.placement.formats.registry import FORMATS
from surplus.placement.problem import Problem


def add_problem_options(parser: argparse.ArgumentParser) -> None:
    """PROBLEM, --format and --processors."""
    add = parser.add_argument
    add("problem", type=Path, metavar="PROBLEM", help="a problem file (docs/FORMATS.md)")
    add("--format", choices=tuple(FORMATS), help="what the file is (default: it is looked at)")
    add(
        "--processors",
        type=int,
        metavar="M",
        help="equal processors of an stg file (2), or of a wfcommons one (those of its machines)",
    )


def asked_file(options: argparse.Namespace) -> Problem:
    """The problem that these options name; errors as ``read_problem``."""
    return read_problem(options.problem, options.format, ReadParams(options.processors))
