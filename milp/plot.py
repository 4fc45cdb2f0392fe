"""A search as a picture: the best plan and the bound over time, and the gap between them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from surplus.milp.result import Result

NS_PER_MS = 1e6


def check_plot(path: Path) -> None:
    """Refuse what cannot be drawn, before anything is searched for.

    Raises
    ------
    ValueError
        If matplotlib is not installed, or knows no such format.
    """
    if find_spec("matplotlib") is None:
        raise ValueError("a plot needs matplotlib (pip install 'surplus-engine[plots]')")
    known = sorted(_figure().canvas.get_supported_filetypes())
    if path.suffix.removeprefix(".") not in known:
        raise ValueError(f"{path}: a plot is one of {', '.join(known)}")


def write_plot(path: Path, result: Result, name: str) -> None:
    """Draw plan, bound and gap over the seconds of a search; the suffix says the format.

    Parameters
    ----------
    name : str
        The problem's, for the title.
    """
    figure = _figure()
    upper, lower = figure.subplots(2, 1, sharex=True)
    end_s = result.runtime_s
    planned = [step for step in result.history if step.makespan_ns is not None]
    plans = [(step.elapsed_s, (step.makespan_ns or 0) / NS_PER_MS) for step in planned]
    bounds = [(step.elapsed_s, step.bound_ns / NS_PER_MS) for step in result.history]
    _stairs(upper, plans, end_s, "plan")
    _stairs(upper, bounds, end_s, "bound")
    _stairs(lower, [(step.elapsed_s, 100 * (step.gap or 0.0)) for step in planned], end_s, "gap")
    upper.set_title(f"{name}: {result.status}, by {result.solver}", parse_math=False)
    upper.set_ylabel("makespan (ms)")
    upper.legend()
    lower.set_ylabel("gap (%)")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("time (s)")
    figure.savefig(path, dpi=120)


def _stairs(axes: Any, points: list[tuple[float, float]], end_s: float, label: str) -> None:
    """What stays as it is until it changes, up to the end."""
    if points:
        times, values = zip(*points, strict=True)
        axes.step((*times, end_s), (*values, values[-1]), where="post", label=label)


def _figure() -> Any:
    """A figure that belongs to no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 6), layout="constrained")
