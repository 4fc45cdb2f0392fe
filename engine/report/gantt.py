"""Gantt charts of timelines, as a page or a picture.

References
----------
SIR+, Fig. 1: a row per device and link, time on x, colour by operator.
"""

from __future__ import annotations

from pathlib import Path

from surplus.engine.atomic_file import write_atomic
from surplus.engine.errors import ConfigError
from surplus.engine.report.figures import check_matplotlib
from surplus.engine.report.gantt_html import to_html
from surplus.engine.report.gantt_png import to_png
from surplus.placement.timeline import Timeline


def write_gantt(
    path: Path, timeline: Timeline, predicted: Timeline | None = None, title: str = ""
) -> None:
    """Draw a timeline, and above it the predicted one if given, on the same scale.

    Parameters
    ----------
    path : Path
        ``.html`` for a stand-alone page with zoom and hover, ``.png`` for a picture.

    Raises
    ------
    ConfigError
        If the suffix is another one, or matplotlib is missing for a picture.
    """
    timelines = [timeline] if predicted is None else [predicted, timeline]
    suffix = Path(path).suffix.lower()
    if suffix in (".html", ".htm"):
        data = to_html(timelines, title).encode()
    elif suffix == ".png":
        check_matplotlib("a Gantt chart as .png, unlike .html,")
        data = to_png(timelines, title)
    else:
        raise ConfigError(f"Gantt chart {str(path)!r}: the suffix must be .html or .png")
    write_atomic(Path(path), data)
