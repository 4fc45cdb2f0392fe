"""What the runs of Abacus's pairs come to: means by policy, and what must hold."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from bench.infrastructure.resumable import Row

ABACUS, PERFECT = "abacus", "abacus, perfect predictor"
FCFS, SJF, EDF_DROP = "fcfs_expired", "sjf_expired", "fcfs_drop"
"""Textbook order, dropping what has expired, as section 7.1 has it; and the drop of Abacus."""
NO_ROOM = "vgg16_vgg19"
"""The pair whose operators fill the device by themselves."""

_P99, _VIOLATIONS = "p99_of_target", "violations"
_SERVED, _GOODPUT, _OFFERED = "served_per_s", "goodput_per_s", "offered_per_s"
_FAIRNESS = "fairness"
"""Rows that were measured before there was one do without."""


class Gain(NamedTuple):
    """Ratio of two policies' means over the pairs, less 1; the paper's, and what must hold."""

    load: str
    figure: str
    other: str
    paper: float | None = None
    bar: str = ""


GAINS = (
    Gain("50", _P99, FCFS, -0.231, "<= -0.18"),
    Gain("50", _P99, SJF, -0.341),
    Gain("50", _VIOLATIONS, FCFS, -0.388, "<= -0.60"),
    Gain("50", _VIOLATIONS, SJF, -0.710),
    Gain("100", _SERVED, FCFS, 0.257, ">= 0.20"),
    Gain("100", _SERVED, SJF, 0.381, ">= 0.08"),
    Gain("100", _VIOLATIONS, FCFS, -0.557),
    Gain("100", _VIOLATIONS, SJF, -0.632),
    Gain("100", _SERVED, EDF_DROP, None, ">= 0.12"),
    Gain("100", _GOODPUT, EDF_DROP, None, ">= 0.09"),
    Gain("100", _SERVED, PERFECT, None, ">= -0.02"),
)
"""Abacus (SC'21), sections 7.2 and 7.3."""

NO_ROOM_GAINS = (
    ("100", _SERVED, FCFS, ">= -0.03"),
    ("50", _GOODPUT, FCFS, ">= -0.03"),
    ("100", _GOODPUT, FCFS, ">= -0.03"),
    ("50", _SERVED, FCFS, ""),
    ("50", _SERVED, EDF_DROP, ">= -0.03"),
    ("100", _SERVED, EDF_DROP, ">= -0.03"),
    ("50", _GOODPUT, EDF_DROP, ""),
    ("100", _GOODPUT, EDF_DROP, ""),
)
"""Section 7.3 speaks of the peak throughput of this pair, at 100 a second. At 50 "served" rewards
FCFS for late answers, so the bar there is on those in time."""


def mean(rows: Sequence[Row], load: str, policy: str, figure: str) -> float:
    """Mean over the pairs at a load."""
    return statistics.mean(r["policies"][policy][figure] for r in rows if r["load"] == load)


def by_policy(rows: Sequence[Row], load: str) -> list[Row]:
    """A line for each policy at a load."""
    lines: list[Row] = []
    for policy in rows[0]["policies"]:
        figures = (_P99, _VIOLATIONS, _SERVED, _GOODPUT, _OFFERED)
        line: Row = {"policy": policy}
        line |= {figure: round(mean(rows, load, policy, figure), 4) for figure in figures}
        line["goodput"] = round(line[_GOODPUT] / line[_OFFERED], 4)
        if all(_FAIRNESS in row["policies"][policy] for row in rows):
            line[_FAIRNESS] = round(mean(rows, load, policy, _FAIRNESS), 4)
        lines.append(line)
    return lines


def bars(rows: Sequence[Row]) -> list[Row]:
    """Our figures beside the paper's and what must hold."""
    lines = []
    for load, figure, other, paper, bar in GAINS:
        ours = mean(rows, load, ABACUS, figure) / mean(rows, load, other, figure) - 1
        lines.append(_line(f"{figure} at {load}, against {other}", ours, paper, bar))
    violations = mean(rows, "50", ABACUS, _VIOLATIONS)
    lines.append(_line("violations at 50", violations, None, "<= 0.02"))
    more = mean(rows, "100", ABACUS, _VIOLATIONS) - mean(rows, "100", PERFECT, _VIOLATIONS)
    lines.append(_line(f"violations at 100, more than {PERFECT}", more, None, "<= 0.05"))
    for load, figure, other, bar in NO_ROOM_GAINS:
        ours = without_room(rows, load, figure, other)
        lines.append(_line(f"{figure} of {NO_ROOM} at {load}, against {other}", ours, None, bar))
    return lines


def without_room(rows: Sequence[Row], load: str, figure: str, other: str) -> float:
    """Gain where overlap gains nothing."""
    (own,) = (r["policies"] for r in rows if (r["pair"], r["load"]) == (NO_ROOM, load))
    return float(own[ABACUS][figure] / own[other][figure] - 1)


def _line(what: str, ours: float, paper: float | None, bar: str) -> Row:
    return {"what": what, "ours": round(ours, 4), "paper": paper, "must be": bar}
