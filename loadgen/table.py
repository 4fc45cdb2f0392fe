"""A summary as a table for people."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from surplus.loadgen.stats import LoadSummary


def render(summary: LoadSummary, title: str) -> Table:
    """Make a rich table of a summary."""
    table = Table(title=Text(title), title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("value", justify="right")
    for what, value in _rows(summary):
        table.add_row(Text(what), value)
    return table


def _rows(summary: LoadSummary) -> list[tuple[str, str]]:
    rows = [
        ("queries", f"{summary.queries:,}"),
        ("succeeded", f"{summary.succeeded:,}"),
        ("throughput", f"{summary.throughput_per_s:,.1f} /s"),
    ]
    if summary.intended_per_s is not None:
        rows.append(("intended rate", f"{summary.intended_per_s:,.1f} /s"))
    if summary.achieved_per_s is not None:
        rows.append(("achieved rate", f"{summary.achieved_per_s:,.1f} /s"))
    if summary.latency is not None:
        latency = summary.latency
        rows += [
            ("latency mean", _ms(latency.mean_ns)),
            ("latency p50", _ms(latency.p50_ns)),
            ("latency p90", _ms(latency.p90_ns)),
            ("latency p99", _ms(latency.p99_ns)),
            ("latency p99.9", _ms(latency.p99_9_ns)),
            ("latency max", _ms(latency.max_ns)),
        ]
    if summary.lateness_p99_ns is not None:
        rows.append(("generator late p99", _ms(summary.lateness_p99_ns)))
    if summary.generator is not None:
        rows += [("client", str(summary.generator)), ("client busy", summary.generator.load)]
    return rows + [(f"error {kind}", f"{count:,}") for kind, count in summary.errors.items()]


def _ms(value_ns: int) -> str:
    return f"{value_ns / 1e6:,.3f} ms"
