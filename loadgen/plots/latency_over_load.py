"""Latency over load: the points of a search for the capacity, or of several runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from surplus.loadgen.capacity.result import CAPACITY_FORMAT
from surplus.loadgen.errors import ResultError
from surplus.loadgen.plots.plot import Named, register, rows_of

_STYLES = {"p50": "-o", "p99": "--s"}


@register("latency-over-load")
def draw_latency_over_load(figure: Any, results: Sequence[Named]) -> None:
    """Lines of p50 and p99 for each search, and for all runs together."""
    axes = figure.subplots()
    for place, (name, summaries) in enumerate(_series(results).items()):
        for percentile, style in _STYLES.items():
            points = sorted(_points(summaries, f"{percentile}_ns"))
            if not points:
                raise ResultError(f"{name}: nothing succeeded at any load")
            xs, ys = zip(*points, strict=True)
            axes.plot(xs, ys, style, color=f"C{place}", label=f"{name}: {percentile}", markersize=4)
    for result in results:
        _mark_target(axes, result)
    axes.set_yscale("log")
    axes.set_xlim(left=0)
    axes.set_xlabel("queries/s, as they were meant to be sent (closed loop: as they were answered)")
    axes.set_ylabel("latency, ms")
    axes.grid(alpha=0.3, which="both")
    axes.legend()


def _series(results: Sequence[Named]) -> dict[str, list[dict[str, Any]]]:
    series: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        if result.document.get("format") == CAPACITY_FORMAT:
            trials = rows_of(result, "trials")
            series[result.name] = [trial["summary"] for trial in trials]
        else:
            series.setdefault("runs", []).append(result.document["summary"])
    return series


def _points(summaries: Sequence[dict[str, Any]], name: str) -> Iterator[tuple[float, float]]:
    for summary in summaries:
        rate_per_s = summary.get("intended_per_s") or summary.get("throughput_per_s")
        if rate_per_s and summary.get("latency"):
            yield rate_per_s, summary["latency"][name] / 1e6


def _mark_target(axes: Any, result: Named) -> None:
    if result.document.get("format") != CAPACITY_FORMAT:
        return
    target_ms = result.document["asked"]["target"]["target_ns"] / 1e6
    label = f"{result.name}: target"
    axes.axhline(target_ms, color="grey", linewidth=0.8, linestyle=":", label=label)
    if rate_per_s := result.document["capacity_per_s"]:
        label = f"{result.name}: what is held"
        axes.axvline(rate_per_s, color="grey", linewidth=0.8, linestyle="--", label=label)
