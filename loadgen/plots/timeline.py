"""What happened when: rates above, latencies below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surplus.loadgen.plots.plot import Named, register, rows_of

_NOTHING = float("nan")


@register("timeline")
def draw_timeline(figure: Any, results: Sequence[Named]) -> None:
    """Two lines of latency (p50 and p99) and one of rate for each result; failures are dotted."""
    above, below = figure.subplots(2, sharex=True)
    for place, result in enumerate(results):
        parts, colour = rows_of(result, "timeline"), f"C{place}"
        times_s = [part["start_ns"] / 1e9 for part in parts]
        above.plot(times_s, [p["succeeded_per_s"] for p in parts], color=colour, label=result.name)
        failed = [part["failed_per_s"] for part in parts]
        if any(failed):
            above.plot(times_s, failed, ":", color=colour, label=f"{result.name}: failed")
        for name, style in (("p50", "-"), ("p99", "--")):
            values = [part[f"{name}_ns"] for part in parts]
            ms = [_NOTHING if value is None else value / 1e6 for value in values]
            below.plot(times_s, ms, style, color=colour, label=f"{result.name}: {name}")
    above.set_ylabel("queries/s")
    below.set_ylabel("latency, ms")
    below.set_xlabel("when the queries were sent, s")
    for axes in (above, below):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
