"""What benches have in common whose rows are of scenarios: folders of data, options, sums."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.infrastructure.resumable import Key, Row, Table
from bench.safety.budget import add_budget, fill_within
from surplus.colocation import Scenario

Folders = tuple[Path, ...]
"""What ``{data}`` in scenarios may mean."""


def read_with(folders: Iterable[Path | None], read: Callable[[Path | None], Scenario]) -> Scenario:
    """A scenario, with the first of the folders with which it can be read.

    Raises
    ------
    ValueError
        If it can be read with none of them: why, of each.
    """
    reasons = []
    for folder in folders:
        try:
            return read(folder)
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError("; ".join(reasons))


def scenarios_parser(said: str | None) -> argparse.ArgumentParser:
    """Options that say where data is, and how far to go."""
    parser = argparse.ArgumentParser(description=said)
    add = parser.add_argument
    add("--data", type=Path, action="append", default=[], metavar="DIR", help="what {data} means")
    add("--table", action="store_true", help="show what has been measured")
    add("--store", action="store_true", help="put the rows so far in the place of the results")
    add_budget(parser)
    return parser


def fill_and_sum_up(
    table: Table,
    name: str,
    keys: Sequence[Key],
    measure: Callable[[Key, Folders], Row],
    sums: Callable[[Sequence[Row]], Sequence[Row]],
    args: argparse.Namespace,
) -> None:
    """As those options say: measure what is missing, and show or store what it comes to.

    Parameters
    ----------
    name : str
        Of the table of the sums.
    """
    if not args.table:
        data = tuple(args.data)
        fill_within(table, keys, lambda key: measure(key, data), args.seconds, whole=False)
    table.sum_up(name, keys, sums(table.rows), store=args.store)
