from itertools import islice

import numpy as np
import pytest

from surplus.loadgen.arrivals import ARRIVALS, poisson, uniform


def _gaps(process, rate_per_s, count, seed=7):
    offsets = list(islice(process(rate_per_s, np.random.default_rng(seed)), count))
    return np.diff([0, *offsets])


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential():
    gaps = _gaps(poisson, 1000.0, 100_000)
    # Standard error of the mean is 0.3 %, of the coefficient of variation about 0.3 %.
    assert gaps.mean() == pytest.approx(1e6, rel=0.015)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, rel=0.015)


def test_poisson_gaps_are_not_capped():
    gaps = _gaps(poisson, 1000.0, 100_000)
    # P(gap > 5 means) = exp(-5): a cap at a few means would empty the tail.
    assert (gaps > 5e6).mean() == pytest.approx(np.exp(-5), rel=0.15)
    assert gaps.max() > 9e6


def test_poisson_counts_per_window_have_variance_equal_to_the_mean():
    offsets = np.cumsum(_gaps(poisson, 1000.0, 100_000))
    counts = np.bincount(offsets // 10_000_000)[:-1]
    assert counts.var() / counts.mean() == pytest.approx(1.0, rel=0.1)


def test_uniform_keeps_its_rate_over_a_long_run():
    offsets = list(islice(uniform(3.0, np.random.default_rng(0)), 3001))
    assert offsets[0] == 0
    assert offsets[3000] == 1_000_000_000_000
    assert set(np.diff(offsets)) == {333_333_333, 333_333_334}


@pytest.mark.parametrize("name", ARRIVALS)
def test_offsets_are_integers_in_order_and_repeat_with_the_seed(name):
    def offsets(seed):
        return list(islice(ARRIVALS[name](50.0, np.random.default_rng(seed)), 5000))

    assert offsets(1) == offsets(1)
    assert all(type(offset) is int for offset in offsets(1))
    assert offsets(1) == sorted(offsets(1))


def test_poisson_differs_between_seeds():
    assert list(_gaps(poisson, 1.0, 10, seed=1)) != list(_gaps(poisson, 1.0, 10, seed=2))


@pytest.mark.parametrize("name", ARRIVALS)
@pytest.mark.parametrize("rate_per_s", [0.0, -1.0, float("inf"), float("nan")])
def test_rates_out_of_range_are_refused(name, rate_per_s):
    with pytest.raises(ValueError, match="rate_per_s must be > 0"):
        next(ARRIVALS[name](rate_per_s, np.random.default_rng(0)))
