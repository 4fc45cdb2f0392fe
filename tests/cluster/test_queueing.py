"""Bounds on lateness hold against sums, simulated queues and known formulas."""

from __future__ import annotations

from math import exp, factorial

import numpy as np
import pytest

from surplus.cluster.queueing.backlog import fullest_with_backlog, late_by_backlog
from surplus.cluster.queueing.overflow import fullest_turns, mean_overflow
from surplus.cluster.queueing.shared_wait import decay_per_ns, effective_load


def overflow_by_sum(mean: float, places: int) -> float:
    chances = [exp(-mean) * mean**n / factorial(n) for n in range(150)]
    return sum(max(0, n - places) * chance for n, chance in enumerate(chances))


@pytest.mark.parametrize("places", [1, 2, 7, 32])
@pytest.mark.parametrize("mean", [0.01, 1.0, 6.5, 40.0])
def test_overflow_is_that_of_the_sum(mean: float, places: int) -> None:
    found = mean_overflow(np.array([mean]), np.array([places]))[0]
    assert found == pytest.approx(overflow_by_sum(mean, places), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("late", [0.001, 0.01, 0.2])
def test_the_fullest_turns_are_just_in_time(late: float) -> None:
    places = np.arange(1, 65)
    mean = fullest_turns(64, late)[1:] * places
    assert np.all(mean_overflow(mean, places) <= late * mean * (1 + 1e-6))
    assert np.all(mean_overflow(mean * 1.01, places) > late * mean * 1.01)


@pytest.mark.parametrize(("mean", "places", "turns"), [(6.0, 8, 2), (14.0, 16, 3), (0.8, 1, 8)])
def test_a_backlog_is_above_the_bound_as_rarely_as_it_says(
    mean: float, places: int, turns: int
) -> None:
    generator = np.random.default_rng(5)
    backlog, above, spare = 0, 0, (turns - 1) * places
    arrivals = generator.poisson(mean, 200_000).tolist()
    for count in arrivals:
        backlog = max(0, backlog + count - places)
        above += backlog > spare
    bound = late_by_backlog(np.array([mean / places]), np.array([float(spare)]))[0]
    assert 0 < above / len(arrivals) <= bound < 1


def test_the_fullest_turns_with_backlog_are_just_in_time() -> None:
    spare = np.array([4.0, 20.0, 200.0])
    used = fullest_with_backlog(spare, 0.01)
    assert np.all((used > 0) & (used < 1) & (np.diff(used, prepend=0) > 0))
    assert late_by_backlog(used, spare) == pytest.approx([0.01] * 3, rel=1e-3)
    assert fullest_with_backlog(np.array([0.0]), 0.01)[0] == 0


def test_waits_among_equals_decay_as_is_known() -> None:
    """M/D/1 at half load: the root of ``0.5 (e^z - 1) = z`` is 1.2564."""
    decay = decay_per_ns(np.array([0]), np.array([0.5]), np.array([1.0]), 1)
    assert decay[0] == pytest.approx(1.25643, rel=1e-4)


def test_a_strip_without_room_has_no_decay() -> None:
    decay = decay_per_ns(np.array([0, 0, 1]), np.array([0.6, 0.6, 0.1]), np.ones(3), 2)
    assert decay[0] < 1e-5 < decay[1]


def test_waits_of_models_that_share_are_as_rare_as_effective_loads_say() -> None:
    """Loads that sum up to 1, and a simulated queue in order of arrival."""
    took = np.array([1.0, 3.0, 8.0])
    wait, late = 40.0, 0.02
    rates = np.array([0.3, 0.08, 0.02])
    rates /= float((rates * effective_load(took, np.array([wait]), late)).sum())
    decay = decay_per_ns(np.zeros(3, np.int64), rates, took, 1)[0]
    assert exp(-decay * wait) == pytest.approx(late, rel=1e-3)
    generator = np.random.default_rng(7)
    gaps = generator.exponential(1 / rates.sum(), 200_000)
    times = generator.choice(took, 200_000, p=rates / rates.sum())
    waiting, above = 0.0, 0
    for gap, time in zip(gaps.tolist(), times.tolist(), strict=True):
        waiting = max(0.0, waiting - gap)
        above += waiting > wait
        waiting += time
    assert late / 20 < above / 200_000 <= late
