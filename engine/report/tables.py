"""Rows of plain values as tables on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from surplus.engine.printable import printable

_ANY_WIDTH = 10_000


def print_rows(
    title: str, rows: Sequence[Mapping[str, Any]], console: Console | None = None
) -> None:
    """Print a table with a column per key; keys that a row lacks are left empty there.

    No text is cut off: a table that is too wide for the console goes without lines if that helps,
    and words are broken where it does not.
    """
    console = console or Console()
    table, lean = _rows_table(rows), _rows_table(rows)
    lean.box, lean.padding, lean.show_edge = box.SIMPLE_HEAD, 0, False
    needs, least = _width(table, console), _width(lean, console)
    helps = needs.minimum > console.width or least.maximum <= console.width
    _print_title(title, console)
    console.print(lean if needs.maximum > console.width and helps else table)


def print_mapping(title: str, values: Mapping[str, Any], console: Console | None = None) -> None:
    """Print a table with a line per key."""
    console = console or Console()
    _print_title(title, console)
    console.print(_mapping_table(values))


def _print_title(title: str, console: Console) -> None:
    """Above the table, not in it, which may be narrower."""
    console.print(Text(printable(title), "table.title"), overflow="fold")


def _rows_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Make the table of ``print_rows``; numbers are to the right, ``_ns`` is shown in ms."""
    table = Table()
    keys = list(dict.fromkeys(key for row in rows for key in row))
    for key in keys:
        phrases = any(" " in _shown(key, row.get(key)) for row in rows)
        numeric = all(isinstance(row.get(key, 0), int | float | None) for row in rows)
        table.add_column(
            Text(_label(key)),
            justify="right" if numeric else "left",
            no_wrap=not phrases,
            overflow="fold",
        )
    if not keys:
        table.add_column("(no rows)")
    for row in rows:
        table.add_row(*(Text(_shown(key, row[key]) if key in row else "") for key in keys))
    return table


def _mapping_table(values: Mapping[str, Any]) -> Table:
    """Make the table of ``print_mapping``."""
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for key, value in values.items():
        table.add_row(Text(_label(key)), Text(_shown(key, value)))
    return table


def _width(table: Table, console: Console) -> Measurement:
    """What a table would take on any console."""
    return Measurement.get(console, console.options.update(width=_ANY_WIDTH), table)


def _label(key: str) -> str:
    return printable(f"{key[:-3]}_ms" if key.endswith("_ns") else key).replace("_", " ")


def _shown(key: str, value: Any) -> str:
    return printable(_text(key, value))


def _text(key: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value / 1e6 if key.endswith("_ns") else value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(str(name), item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_shown("", item) for item in value)
    return str(value)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
