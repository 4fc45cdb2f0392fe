"""Options of benches whose rows are means over several traces, and are kept as they come."""

from __future__ import annotations

import argparse

SEEDS = (1, 2, 3, 4, 5)
"""Of the traces, a load each."""


def add_traces(parser: argparse.ArgumentParser) -> None:
    """--of and --anew."""
    add = parser.add_argument
    add("--of", type=int, default=len(SEEDS), metavar="N", help="traces, >= 2")
    add("--anew", action="store_true", help="run all again")
