"""``loadgen compare``: two results beside each other."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from surplus.loadgen.compare import compare, comparison_table, differences
from surplus.loadgen.errors import ResultError
from surplus.loadgen.result import read_result


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("compare", help="two results: ratios, and whether they differ")
    parser.add_argument("first", type=Path, help="a file of loadgen --json")
    parser.add_argument("second", type=Path, help="another; its figures are over the first one's")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(do=_run)


def _run(arguments: argparse.Namespace) -> int:
    first, second = read_result(arguments.first), read_result(arguments.second)
    rows = compare(first, second)
    if not rows:
        raise ResultError(f"{arguments.first} and {arguments.second} have no figure in common")
    notes = differences(first, second)
    if arguments.json:
        figures = [row.to_dict() for row in rows]
        print(json.dumps({"figures": figures, "notes": notes}, indent=1))
        return 0
    Console().print(comparison_table(rows, arguments.first.name, arguments.second.name))
    for note in notes:
        print(f"loadgen: warning: {note}", file=sys.stderr)
    return 0
