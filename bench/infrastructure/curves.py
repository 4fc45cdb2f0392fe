"""A column of stored rows over the load, a curve a contender."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def draw_curves(plot: Any, rows: Sequence[dict[str, Any]], column: str, scale: float = 1) -> None:
    """Onto one plot; rows in which the column is no number are left out.

    Parameters
    ----------
    rows : sequence of dict
        With ``contender`` and ``load``, by rising load.
    scale : float
        What numbers are multiplied by.
    """
    numbers = [row for row in rows if isinstance(row[column], (int, float))]
    for how in dict.fromkeys(row["contender"] for row in numbers):
        own = [row for row in numbers if row["contender"] == how]
        values = [scale * row[column] for row in own]
        plot.plot([row["load"] for row in own], values, marker=".", label=how)
    plot.tick_params(labelsize=8)
