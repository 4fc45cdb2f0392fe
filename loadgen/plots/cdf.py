"""Latency by percentile, stretched towards the slowest, as HdrHistogram's plotter has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surplus.loadgen.plots.plot import Named, register, rows_of

_MARKS = (0, 50, 90, 99, 99.9, 99.99, 99.999)


@register("cdf")
def draw_cdf(figure: Any, results: Sequence[Named]) -> None:
    """A line for each result."""
    axes = figure.subplots()
    longest = 1.0
    for result in results:
        curve = [(p, ns) for p, ns in rows_of(result, "percentiles") if p < 100]
        beyond = [1 / (1 - percent / 100) for percent, _ in curve]
        longest = max(longest, *beyond)
        axes.plot(beyond, [ns / 1e6 for _, ns in curve], label=result.name)
    marks = [mark for mark in _MARKS if 1 / (1 - mark / 100) <= longest * 1.001]
    axes.set_xscale("log")
    axes.set_xticks([1 / (1 - mark / 100) for mark in marks], [f"{mark:g} %" for mark in marks])
    axes.minorticks_off()
    axes.set_xlabel("of the queries")
    axes.set_ylabel("took at most, ms")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
