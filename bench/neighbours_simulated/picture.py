"""Misses over the load, a curve a contender, from the stored result.

``python -m bench.neighbours_simulated.picture`` writes docs/neighbours_simulated.png; it needs the
extra ``plots``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.infrastructure.curves import draw_curves
from bench.infrastructure.result_file import path_of, read_rows
from surplus.engine.report.figures import check_matplotlib, drawn, new_figure

PATH = Path(__file__).parents[2] / "docs" / "neighbours_simulated.png"
MISSES = "worst model's misses"


def picture(rows: Sequence[dict[str, Any]], kind: str = "png") -> bytes:
    """A row of plots a mix, a column a number of cores.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    check_matplotlib("this picture")
    mixes = list(dict.fromkeys(row["mix"] for row in rows))
    cores = list(dict.fromkeys(row["cores"] for row in rows))
    figure = new_figure(3.2 * len(cores), 2.4 * len(mixes) + 0.6)
    plots = figure.subplots(len(mixes), len(cores), squeeze=False, sharex=True, sharey=True)
    for line, mix in zip(plots, mixes, strict=True):
        for plot, count in zip(line, cores, strict=True):
            own = [row for row in rows if (row["mix"], row["cores"]) == (mix, count)]
            draw_curves(plot, own, MISSES, 100)
            plot.axhline(1.0, color="grey", linewidth=0.8, linestyle=":")
            plot.set_title(f"{mix}, {count} cores", fontsize=9)
    for plot in plots[-1]:
        plot.set_xlabel("load", fontsize=8)
    for line in plots:
        line[0].set_ylabel("worst model's misses, %", fontsize=8)
    handles, labels = plots[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8)
    return drawn(figure, kind)


def main() -> None:
    """Draw what is stored."""
    PATH.write_bytes(picture(read_rows(path_of("neighbours_simulated_misses"))))
    print(PATH)


if __name__ == "__main__":
    main()
