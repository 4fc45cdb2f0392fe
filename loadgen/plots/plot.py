"""The extension point of plots: what draws results into a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from surplus.loadgen.errors import ResultError

SUFFIXES = (".png", ".svg", ".pdf")


class Named(NamedTuple):
    """A result as ``read_result`` gives it, or a capacity's, and what it is called."""

    name: str
    document: dict[str, Any]


Draw = Callable[[Any, Sequence[Named]], None]
"""Draws into an empty matplotlib figure. Raises ResultError naming a result it cannot draw."""

PLOTS: dict[str, Draw] = {}


def register(name: str) -> Callable[[Draw], Draw]:
    """Register what draws under a name."""

    def put(draw: Draw) -> Draw:
        PLOTS[name] = draw
        return draw

    return put


def save_plot(name: str, results: Sequence[Named], path: Path) -> None:
    """Draw and write; the format is the suffix's.

    Raises
    ------
    ResultError
        If matplotlib is not installed, or a result is not one that can be drawn so.
    OSError
        If the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        said = "plots need matplotlib (pip install 'surplus-engine[plots]')"
        raise ResultError(said) from None
    figure = Figure(figsize=(8, 5), layout="constrained")  # no window, no state of pyplot
    PLOTS[name](figure, results)
    figure.savefig(path, dpi=120)


def rows_of(result: Named, key: str) -> list[Any]:
    """A part of a result that is needed.

    Raises
    ------
    ResultError
        If it is not there.
    """
    rows = result.document.get(key)
    if not isinstance(rows, list) or not rows:
        raise ResultError(f"{result.name}: {key}: is missing, or empty")
    return rows
