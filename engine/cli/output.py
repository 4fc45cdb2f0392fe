"""What verbs print on stdout and write to files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surplus.engine.errors import ConfigError
from surplus.engine.report.figures import check_matplotlib

WIDTH = 100
"""Columns of a table where stdout is no terminal."""

CHART_SUFFIXES = (".html", ".htm", ".png")
PLOT_SUFFIXES = (".html", ".svg", ".png")


def show_rows(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with a column per key."""
    from surplus.engine.cli.console import stdout_console  # a server prints no tables
    from surplus.engine.report import tables

    tables.print_rows(title, rows, stdout_console(WIDTH))


def show_text(text: str) -> None:
    """Print lines between tables, broken between words where these would be."""
    from textwrap import wrap

    from surplus.engine.cli.console import stdout_console

    columns = stdout_console(WIDTH).width
    for line in text.splitlines():
        print(*wrap(line, columns, subsequent_indent="  "), sep="\n")


def show_mapping(title: str, values: Mapping[str, Any]) -> None:
    """Print a table with a line per key."""
    from surplus.engine.cli.console import stdout_console
    from surplus.engine.report import tables

    tables.print_mapping(title, values, stdout_console(WIDTH))


def show_json(document: Any) -> None:
    """Print a document that any JSON reader takes: what is not finite becomes null."""
    print(json.dumps(_finite(document), indent=1, allow_nan=False))


def duration(time_ns: float) -> str:
    """A time with its unit, three significant digits: ``12.3 µs``."""
    for unit, unit_ns in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(time_ns) >= unit_ns:
            return f"{three_digits(time_ns / unit_ns)} {unit}"
    return f"{time_ns:.0f} ns"


def three_digits(value: float) -> str:
    """A number with three significant digits, or all of an integer: ``1234``, ``0.0123``."""
    if isinstance(value, int):
        return str(value)
    if abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:.{max(0, 3 - len(str(int(abs(value)))))}f}"


def check_outputs(*paths: Path | None) -> None:
    """Refuse what cannot be written before any work is done for it.

    Raises
    ------
    ConfigError
        Naming the path and why.
    """
    given = [path for path in paths if path is not None]
    for path in given:
        if given.count(path) > 1:
            raise ConfigError(f"{path}: is to be written twice")
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path}: exists and is not a regular file")
        if not path.parent.is_dir():
            raise ConfigError(f"{path}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK):
            raise ConfigError(f"{path}: the folder {path.parent} cannot be written")


def check_chart(path: Path | None) -> None:
    """As ``check_outputs``, for a Gantt chart, whose suffix decides its kind.

    Raises
    ------
    ConfigError
        Also if what draws a picture is not installed.
    """
    _check_suffix(path, "a Gantt chart", CHART_SUFFIXES)
    if path is not None and path.suffix.lower() == ".png":
        check_matplotlib("a Gantt chart as .png, unlike .html,")
    check_outputs(path)


def check_plot(path: Path | None) -> None:
    """As ``check_chart``, for charts of lines and bars."""
    _check_suffix(path, "a chart", PLOT_SUFFIXES)
    if path is not None:
        check_matplotlib("a chart")
    check_outputs(path)


def _check_suffix(path: Path | None, what: str, suffixes: tuple[str, ...]) -> None:
    if path is not None and path.suffix.lower() not in suffixes:
        known = f"{', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise ConfigError(f"{path}: the suffix of {what} must be {known}")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
