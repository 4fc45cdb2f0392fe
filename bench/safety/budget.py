"""Fills a resumable table for a limited time: long tables in short sittings."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from bench.infrastructure.resumable import Key, Row, Table


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add ``--seconds``."""
    text = "begin no further row after so long; the same command goes on from there"
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S", help=text)


def fill_within(
    table: Table,
    keys: Sequence[Key],
    measure: Callable[[Key], Row],
    seconds: float,
    *,
    whole: bool = True,
) -> bool:
    """Measure rows that are missing, in order, until there are none or the time is up.

    Parameters
    ----------
    whole : bool
        Whether ``keys`` are all of the table; then it is stored as the table's results when it
        is complete.

    Returns
    -------
    bool
        Whether all of the rows are there.
    """
    began = time.monotonic()
    missing = table.missing(keys)
    for done, key in enumerate(missing):
        if time.monotonic() - began > seconds:
            print(f"{len(missing) - done} of {len(keys)} rows are left", file=sys.stderr)
            return False
        table.add(measure(key))
    if whole:
        table.finish(keys)
    return True
