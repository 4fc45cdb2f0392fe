"""Two runs beside each other: ratios, and whether they differ by more than chance.

References
----------
Zou, Donner: Construction of confidence limits about effect measures, Statistics in Medicine 27,
2008 (MOVER: the interval of a difference from those of its two sides, here of logarithms).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, hypot, log
from typing import Any

from rich.table import Table
from rich.text import Text

from surplus.loadgen.confidence import LEVEL

_FIGURES = {
    "throughput": "throughput_per_s",
    "latency mean": "mean_ns",
    "latency p50": "p50_ns",
    "latency p90": "p90_ns",
    "latency p99": "p99_ns",
    "latency p99.9": "p99_9_ns",
}
_UNITS = {"throughput_per_s": (1.0, "/s", 1)}
_MS = (1e6, "ms", 3)
_SAME_LOAD = ("loop", "users", "rate_per_s", "process", "protocol")
_ALWAYS = ("model", "loop", "protocol")


@dataclass(frozen=True)
class RatioRow:
    """A figure of both runs.

    Parameters
    ----------
    what : str
    first, second : float
        In nanoseconds, or per second.
    ratio : float
        The second over the first.
    interval : (float, float) or None
        Of the ratio; None where a run has too few queries for one.
    """

    what: str
    first: float
    second: float
    ratio: float
    interval: tuple[float, float] | None

    @property
    def verdict(self) -> str:
        """Whether a difference is shown."""
        if self.interval is None:
            return "too few queries to say"
        low, high = self.interval
        if low <= 1 <= high:
            return "no difference shown"
        return "more" if low > 1 else "less"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "what": self.what,
            "first": self.first,
            "second": self.second,
            "ratio": self.ratio,
            "interval": self.interval,
            "verdict": self.verdict,
        }


def compare(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[RatioRow]:
    """Compare the figures that two results both have.

    Parameters
    ----------
    first, second : mapping
        As ``read_result`` gives them.
    """
    rows = []
    for what, name in _FIGURES.items():
        a, b = _figure(first, name), _figure(second, name)
        if a and b:
            bounds = (_interval(first, name), _interval(second, name))
            rows.append(RatioRow(what, a, b, b / a, _ratio_interval(a, b, *bounds)))
    return rows


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """What makes the comparison unfair: another load, errors, what either run warned of."""
    notes = []
    for key, part in (("model", "target"), *((key, "load") for key in _SAME_LOAD)):
        a, b = first[part].get(key), second[part].get(key)
        # What only one of two loops has is no news: that they are two is.
        if a != b and (key in _ALWAYS or None not in (a, b)):
            notes.append(f"the loads differ: {key} was {a}, and then {b}")
    for name, result in (("first", first), ("second", second)):
        summary = result["summary"]
        if errors := summary.get("errors"):
            notes.append(f"the {name} run had errors, which have no latency: {errors}")
        notes += [f"of the {name} run: {said}" for said in summary.get("warnings") or ()]
        if (result.get("confidence") or {}).get("drifts"):
            notes.append(f"the {name} run drifted: its intervals are too narrow")
    return notes


def comparison_table(rows: list[RatioRow], first: str, second: str) -> Table:
    """For people."""
    table = Table(show_header=True)
    table.add_column("", no_wrap=True)
    for name in (first, second, "ratio", f"{LEVEL:.0%} interval"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    table.add_column("")
    for row in rows:
        interval = "" if row.interval is None else "{:.3f} to {:.3f}".format(*row.interval)
        name = _FIGURES[row.what]
        cells = (_said(row.first, name), _said(row.second, name), f"{row.ratio:.3f}", interval)
        table.add_row(row.what, *cells, row.verdict)
    return table


def _figure(result: Mapping[str, Any], name: str) -> float:
    summary = result["summary"]
    latency = summary.get("latency") or {}
    return float(summary.get(name) or latency.get(name) or 0)


def _interval(result: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    found = ((result.get("confidence") or {}).get("intervals") or {}).get(name)
    return None if found is None or min(found) <= 0 else (float(found[0]), float(found[1]))


def _ratio_interval(
    first: float,
    second: float,
    of_first: tuple[float, float] | None,
    of_second: tuple[float, float] | None,
) -> tuple[float, float] | None:
    if of_first is None or of_second is None:
        return None
    down_first, up_first = (log(first / of_first[0]), log(of_first[1] / first))
    down_second, up_second = (log(second / of_second[0]), log(of_second[1] / second))
    ratio = log(second / first)
    low = ratio - hypot(max(0.0, down_second), max(0.0, up_first))
    high = ratio + hypot(max(0.0, up_second), max(0.0, down_first))
    return exp(low), exp(high)


def _said(value: float, name: str) -> str:
    unit, text, digits = _UNITS.get(name, _MS)
    return f"{value / unit:,.{digits}f} {text}"
