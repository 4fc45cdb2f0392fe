"""Misses and work in time over the load, a curve a contender, from the stored result.

``python -m bench.neighbours.picture`` writes docs/neighbours.png; it needs the extra ``plots``.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from bench.infrastructure.curves import draw_curves
from bench.infrastructure.result_file import path_of, read_rows
from surplus.engine.report.figures import check_matplotlib, drawn, new_figure

PATH = Path(__file__).parents[2] / "docs" / "neighbours.png"
_COLOURS = 48
"""Of the picture that is kept: a fifth of the bytes, and nobody sees it."""
_LINES = (
    ("worst model's misses", 100.0, "worst model's misses, %"),
    ("work in time s/s", 1.0, "work in time, s/s"),
)


def picture(rows: Sequence[dict[str, Any]], kind: str = "png") -> bytes:
    """A column of plots a mix: misses above, work in time below.

    Raises
    ------
    ConfigError
        If matplotlib is not installed.
    """
    check_matplotlib("this picture")
    mixes = list(dict.fromkeys(row["mix"] for row in rows))
    figure = new_figure(3.6 * len(mixes), 6.0)
    plots = figure.subplots(len(_LINES), len(mixes), squeeze=False, sharex=True, sharey="row")
    for line, (column, scale, label) in zip(plots, _LINES, strict=True):
        for plot, mix in zip(line, mixes, strict=True):
            draw_curves(plot, [row for row in rows if row["mix"] == mix], column, scale)
        line[0].set_ylabel(label, fontsize=8)
    for top, bottom, mix in zip(*plots, mixes, strict=True):
        top.set_title(mix, fontsize=9)
        top.axhline(1.0, color="grey", linewidth=0.8, linestyle=":")
        bottom.set_xlabel("load", fontsize=8)
    handles, labels = plots[-1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return drawn(figure, kind)


def main() -> None:
    """Draw what is stored."""
    from PIL import Image  # which matplotlib brings

    drawn_picture = Image.open(BytesIO(picture(read_rows(path_of("neighbours")))))
    drawn_picture.convert("RGB").quantize(_COLOURS).save(PATH, optimize=True)
    print(PATH)


if __name__ == "__main__":
    main()
