"""Loads as parts of what anybody could hold: the rate at which the bound falls below 99 %."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt

from surplus.colocation.clairvoyant import scenario_bound
from surplus.colocation.frame.clock import NS_PER_S
from surplus.colocation.scenarios.scenario import Scenario

TARGET = 0.99
_TOLERANCE = 0.02
_MOST_DOUBLINGS = 12
_SAVED = 0.4
"""What groups of measured models save at most, nearly: 42 % in Abacus's data."""
_TARGETS = 10
"""A run lasts for so many times the longest target, at least."""


def at_load(scenario: Scenario, scale: float, queries: int) -> Scenario:
    """The scenario at so many times its rates, for so many queries on the mean.

    What changes at a stated time, and the steps of loads, stay where they are: a scenario that
    has such is as long as it was.
    """
    louder = scenario.scaled(scale)
    if louder.changes:
        return louder
    rate_per_s = sum(tenant.arrivals.rate_per_s for tenant in louder.tenants)
    longest_ns = max(tenant.service.slo_ns for tenant in louder.tenants)
    enough_ns = ceil(queries / rate_per_s * NS_PER_S)
    return replace(louder, duration_ns=max(enough_ns, _TARGETS * longest_ns))


def full_scale(scenario: Scenario, queries: int, target: float = TARGET) -> float:
    """The factor on a scenario's rates at which its clairvoyant bound falls below a target.

    Parameters
    ----------
    queries : int
        Of a probe, on the mean.

    Returns
    -------
    float
        Within 2 %, the lower end. Where the truth is measured groups the bound of the scenario is a
        guess that is far too high; there groups are taken to save two fifths, as the best do.

    Raises
    ------
    ValueError
        If there is no such factor within 4096 times or a 4096th of the rates.
    """
    if scenario.group_times is not None:
        scenario = replace(scenario, group_times=None, overlap=_SAVED)

    def held(scale: float) -> bool:
        return scenario_bound(at_load(scenario, scale, queries)).goodput >= target

    low, high = 1.0, 1.0
    if held(1.0):
        while held(high):
            low, high = high, 2 * high
            _check_range(high)
    else:
        while not held(low):
            low, high = low / 2, low
            _check_range(1 / low)
    while high > low * (1 + _TOLERANCE):
        middle = sqrt(low * high)
        low, high = (middle, high) if held(middle) else (low, middle)
    return low


def _check_range(factor: float) -> None:
    if factor > 2**_MOST_DOUBLINGS:
        raise ValueError(f"the bound does not pass the target within {factor:g} times the rates")
