"""``make bench-check``: have the ratios become worse than the stored ones?

Only ratios of contenders that took turns are compared, with tolerances that noise does not trip;
what looks worse is measured again before it counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.core import fan_out, overlap
from bench.infrastructure import result_file
from bench.models import models_cpu

Row = Mapping[str, Any]

REPEATS = 3
"""Measurements of a row before it counts as worse; the best one is compared."""


@dataclass(frozen=True)
class Guard:
    """One ratio of one stored row.

    Parameters
    ----------
    table, key, value : str
        File of bench/results, the column that names the row, and the row's value there.
    ratio : str
        The column to compare.
    higher_is_better : bool
        For speed-ups.
    tolerance : float
        Share by which it may be worse.
    measure : callable
        Measures the row again.
    """

    table: str
    key: str
    value: str
    ratio: str
    higher_is_better: bool
    tolerance: float
    measure: Callable[[], Row]

    def stored(self) -> float | None:
        """The stored ratio; None if there is none."""
        path = result_file.path_of(self.table)
        if not path.exists():
            return None
        rows = result_file.read_rows(path)
        found = [row[self.ratio] for row in rows if str(row[self.key]) == self.value]
        return float(found[0]) if found else None

    def is_worse(self, measured: float, stored: float) -> bool:
        """Whether a ratio is out of tolerance."""
        if self.higher_is_better:
            return measured < stored * (1 - self.tolerance)
        return measured > stored * (1 + self.tolerance)


def guards() -> list[Guard]:
    """What is watched: one small, one linear, one wide and one heavy model, fan-out, overlap."""
    found = [
        Guard("models_cpu", "model", name, "p50 ratio", False, 0.10, _model(name))
        for name in ("lenet", "mobilenet_v2", "dlrm", "random_wide", "ssd")
    ]
    variant = fan_out.VARIANTS[0]
    label = " ".join(str(v) for v in variant.values())
    found.append(
        Guard(
            "fan_out", "variant", label, "speed-up", True, 0.20, lambda: fan_out.row(dict(variant))
        )
    )
    found.append(
        Guard(
            "overlap",
            "CPU branch ms",
            "20",
            "over the longer",
            False,
            0.10,
            lambda: overlap.row(*overlap.BRANCHES_MS[0]),
        )
    )
    return found


def checked(guard: Guard) -> dict[str, Any]:
    """Measure a guard's row until it is within tolerance, or ``REPEATS`` times."""
    stored = guard.stored()
    result = {"table": guard.table, "row": guard.value, "ratio": guard.ratio}
    if stored is None:
        return {**result, "stored": "-", "measured": "-", "verdict": "not stored"}
    best: float | None = None
    for _ in range(REPEATS):
        measured = float(guard.measure()[guard.ratio])
        better = max if guard.higher_is_better else min
        best = measured if best is None else better(best, measured)
        if not guard.is_worse(best, stored):
            break
    assert best is not None
    verdict = "WORSE" if guard.is_worse(best, stored) else "ok"
    return {**result, "stored": stored, "measured": best, "verdict": verdict}


def main() -> int:
    """Check every guard; 1 if one is worse."""
    rows = []
    for guard in guards():
        rows.append(checked(guard))
        result_file.show(f"{guard.table}: {guard.value}", rows[-1:])
    result_file.show("Against the stored ratios", rows)
    return 1 if any(row["verdict"] == "WORSE" for row in rows) else 0


def _model(name: str) -> Callable[[], Row]:
    return lambda: models_cpu.row(name, rounds=12, tune_s=0)


if __name__ == "__main__":
    sys.exit(main())
