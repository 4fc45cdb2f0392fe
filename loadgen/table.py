"""A measurement as a table for people."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from surplus.loadgen.confidence import LEVEL, Bounds, confidence_of
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.record import Records
from surplus.loadgen.stats import LoadSummary

Cells = tuple[str, str]
"""A figure and its interval, the latter empty where there is none."""

_LATENCIES = {
    "latency mean": "mean_ns",
    "latency p50": "p50_ns",
    "latency p90": "p90_ns",
    "latency p99": "p99_ns",
    "latency p99.9": "p99_9_ns",
    "latency max": "max_ns",
}


def render(measured: Measurement, title: str) -> Table:
    """Make a rich table of a run.

    Of one model, with intervals; of several, with a column for each instead.
    """
    columns = {"all": rows_of(measured.summary, measured.records)}
    for part in measured.models:
        columns[part.name] = rows_of(part.summary, part.records)
    is_single = len(columns) == 1
    table = Table(title=Text(title), title_justify="left", show_header=True)
    table.add_column("")
    for name in columns:
        table.add_column("value" if is_single else Text(name), justify="right")
    if is_single:
        table.add_column(f"{LEVEL:.0%} interval", justify="right", style="dim")
    for what in dict.fromkeys(what for rows in columns.values() for what in rows):
        pairs = [rows.get(what, ("", "")) for rows in columns.values()]
        cells = pairs[0] if is_single else [figure for figure, _ in pairs]
        table.add_row(Text(what), *(Text(cell) for cell in cells))
    return table


def rows_of(summary: LoadSummary, records: Records) -> dict[str, Cells]:
    """Figures by what they are."""
    confidence = confidence_of(records)
    intervals = {} if confidence is None else confidence.intervals
    rows = {
        "queries": (f"{summary.queries:,}", ""),
        "succeeded": (f"{summary.succeeded:,}", ""),
        "throughput": (
            f"{summary.throughput_per_s:,.1f} /s",
            _interval(intervals.get("throughput_per_s"), 1.0, "/s", 1),
        ),
    }
    if summary.intended_per_s is not None:
        rows["intended rate"] = (f"{summary.intended_per_s:,.1f} /s", "")
    if summary.achieved_per_s is not None:
        rows["achieved rate"] = (f"{summary.achieved_per_s:,.1f} /s", "")
    for what, name in _LATENCIES.items():
        if summary.latency is not None:
            interval = _interval(intervals.get(name), 1e6, "ms", 3)
            rows[what] = (f"{getattr(summary.latency, name) / 1e6:,.3f} ms", interval)
    if summary.lateness_p99_ns is not None:
        rows["generator late p99"] = (f"{summary.lateness_p99_ns / 1e6:,.3f} ms", "")
    if summary.generator is not None:
        rows["client"] = (str(summary.generator), "")
        rows["client busy"] = (summary.generator.load, "")
    if confidence is not None and confidence.drifts:
        rows["steady"] = ("NO: it changed during the run", "")
    return rows | {f"error {kind}": (f"{n:,}", "") for kind, n in summary.errors.items()}


def _interval(bounds: Bounds | None, unit: float, name: str, digits: int) -> str:
    if bounds is None:
        return ""
    low, high = (f"{bound / unit:,.{digits}f}" for bound in bounds)
    return f"{low} to {high} {name}"
