"""Estimates follow rates without trembling; models sleep and wake within their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS, Fleet
from surplus.cluster.control.autoscaler import Following
from surplus.cluster.control.rate_estimate import MovingMean, MovingMeanParams, RecentPeak
from surplus.cluster.control.sleep import Sleep
from tests.cluster.settings import GPU, model

NOBODY = np.zeros(1, np.bool_)
EXACT = MovingMeanParams(rise=1.0, fall=0.5, headroom=0.1, deviations=0.0, band=0.2)


def seen(estimate: MovingMean | RecentPeak, rates: list[float]) -> list[float]:
    return [float(estimate.see(np.array([rate]), 60.0)[0]) for rate in rates]


def test_a_rise_is_followed_at_once_and_a_fall_slowly() -> None:
    planned = seen(MovingMean(np.zeros(1), EXACT), [100.0, 200.0, 100.0, 100.0, 100.0])
    assert planned[:2] == pytest.approx([110.0, 220.0])
    # the mean falls by halves: 150, 125, 112.5; with headroom 165, 137.5, 123.75, within a fifth
    assert planned[2:] == pytest.approx([165.0, 165.0, 123.75])


def test_a_rate_within_its_band_changes_nothing() -> None:
    planned = seen(MovingMean(np.zeros(1), EXACT), [100.0, 104.0, 98.0, 103.0, 96.0])
    assert planned == pytest.approx([110.0] * 5)


def test_few_queries_are_planned_for_with_their_deviation() -> None:
    params = MovingMeanParams(headroom=0.0, deviations=2.0)
    planned = seen(MovingMean(np.zeros(1), params), [1.0])
    assert planned[0] == pytest.approx(1 + 2 * np.sqrt(1 / 60))


def test_a_peak_is_remembered_for_its_windows() -> None:
    assert seen(RecentPeak(3), [5.0, 9.0, 1.0, 1.0, 1.0]) == [5.0, 9.0, 9.0, 9.0, 1.0]


@pytest.mark.parametrize(
    "wrong",
    [{"rise": 0.0}, {"fall": 1.1}, {"headroom": -0.1}, {"deviations": -1.0}, {"band": 1.0}],
)
def test_impossible_estimates_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MovingMeanParams(**wrong)


def asleep(first_answer_s: float | None, windows: int = 3) -> list[bool]:
    models = [model(memory_gb=4, first_answer_s=first_answer_s)]
    sleep = Sleep(models, [GPU], windows)
    rates = [1.0, 0.0, 0.0, 0.0, 0.0]
    return [sleep.see(np.array([rate]), np.array([2.0]), NOBODY, 60.0)[0] == 0 for rate in rates]


def test_a_model_without_queries_falls_asleep() -> None:
    assert asleep(10.0) == [False, False, False, True, True]


@pytest.mark.parametrize("first_answer_s", [None, 5.0])
def test_who_would_answer_too_late_stays_awake(first_answer_s: float | None) -> None:
    """4 GB take 4.3 s to load, and sessions one more."""
    assert not any(asleep(first_answer_s))


def test_who_wakes_gets_what_it_had() -> None:
    sleep = Sleep([model(first_answer_s=10.0)], [GPU], 1)
    see = lambda rate, planned, wakes: sleep.see(  # noqa: E731
        np.array([rate]), np.array([planned]), np.array([wakes]), 60.0
    )[0]
    assert see(7.0, 8.0, False) == 8.0
    assert see(0.0, 4.0, False) == 0.0
    assert see(0.0, 0.1, False) == 0.0
    assert see(0.0, 0.0, True) >= 4.0


def test_a_planner_is_asked_only_when_something_changed() -> None:
    fleet = Fleet.of([(GPU, 4)])
    estimate = MovingMean(np.zeros(1), EXACT)
    scaler = Following(CLUSTER_PLANNERS.make("surplus"), (model(),), fleet, estimate)
    first = scaler.step(np.array([100.0]), NOBODY, 60.0)
    assert scaler.step(np.array([101.0]), NOBODY, 60.0) is first
    assert scaler.step(np.array([150.0]), NOBODY, 60.0) is not first
