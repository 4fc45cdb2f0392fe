"""What families have in common: shapes of load, targets, and rates that fill the devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surplus.colocation.families.family import Document
from surplus.colocation.frame.clock import NS_PER_MS, NS_PER_S
from surplus.colocation.frame.profile import PROFILES, LatencyProfile

_FULL_PERCENT = 100


def profile_of(table: Document) -> LatencyProfile:
    """The profile that a table says."""
    return PROFILES.make(table["kind"], **{k: v for k, v in table.items() if k != "kind"})


def slo_ms(profile: LatencyProfile, items: int, times: float, share_percent: int = 100) -> float:
    """A target: so many times as long as a batch takes."""
    return round(times * profile.latency_ns(items, 0, share_percent) / NS_PER_MS, 2)


def least_work_ns(profile: LatencyProfile, items: int, shares: Sequence[int]) -> float:
    """Devices times nanoseconds that an item of a batch holds on its best share."""
    works = [share * profile.latency_ns(items, 0, share) for share in shares]
    return min(works) / (_FULL_PERCENT * items)


def filling_rates(
    draw: np.random.Generator, works_ns: Sequence[float], devices: int
) -> list[float]:
    """Queries a second that hold all devices, in unequal parts.

    Parameters
    ----------
    works_ns : sequence of float
        Devices times nanoseconds of a query, by service.
    devices : int
    """
    parts = draw.dirichlet([2.0] * len(works_ns))
    pairs = zip(parts.tolist(), works_ns, strict=True)
    return [float(f"{max(0.02, part) * devices * NS_PER_S / work:.4g}") for part, work in pairs]


def some_load(draw: np.random.Generator, rate_per_s: float) -> Document:
    """Half of the loads are Poisson; the others are bursts, days, steps and clockwork."""
    kind = str(draw.choice(["poisson", "bursty", "diurnal", "steps", "uniform"], p=_KINDS))
    if kind == "steps":
        factors = draw.uniform(0.5, 1.5, 4)
        rates = [float(f"{rate_per_s * f:.4g}") for f in factors / factors.mean()]
        return {"kind": kind, "rates_per_s": rates, "step_s": round(float(draw.uniform(1, 3)), 2)}
    return {"kind": kind, "rate_per_s": rate_per_s, **_shape(draw, kind)}


_KINDS = (0.5, 0.2, 0.1, 0.1, 0.1)


def _shape(draw: np.random.Generator, kind: str) -> Document:
    if kind == "bursty":
        burst_s = round(float(draw.uniform(0.2, 1.0)), 2)
        return {"peak": round(float(draw.uniform(1.3, 2.5)), 2), "burst_s": burst_s, "calm_s": 2.0}
    if kind == "diurnal":
        swing = round(float(draw.uniform(0.2, 0.8)), 2)
        return {"swing": swing, "period_s": 5.0, "phase": round(float(draw.random()), 2)}
    return {}


def services_of(
    draw: np.random.Generator,
    tables: Sequence[Document],
    works_ns: Sequence[float],
    devices: int,
    own: Callable[[int], Document],
) -> list[Document]:
    """A service for each profile, with loads that fill all devices together.

    Parameters
    ----------
    tables : sequence of dict
        Profiles, by service.
    works_ns : sequence of float
        As of ``filling_rates``.
    own : callable
        What else the table of a service says: its target, its batches.
    """
    rates = filling_rates(draw, works_ns, devices)
    return [
        {"name": f"s{k}", **own(k), "load": some_load(draw, rates[k]), "profile": table}
        for k, table in enumerate(tables)
    ]


def gpus(count: int) -> list[Document]:
    """Devices that are shared in percent."""
    return [{"name": f"gpu{k}"} for k in range(count)]


def uniform(draw: np.random.Generator, least: float, most: float, digits: int = 3) -> float:
    """A number between two, as short as a person would write it."""
    return round(float(draw.uniform(least, most)), digits)


def whole(draw: np.random.Generator, least: int, most: int) -> int:
    """A whole number between two, both possible."""
    return int(draw.integers(least, most + 1))


def one_of(draw: np.random.Generator, values: Sequence[Any]) -> Any:
    """One of some values."""
    return values[int(draw.integers(len(values)))]
