"""D-STACK's kernel model, its knees, and the choice of batch and share."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation.policies.dstack.efficacy import (
    Limits,
    OperatingPoint,
    exhaustive,
    optimise,
    point_of,
)
from surplus.colocation.policies.dstack.kernel_model import KernelModel
from surplus.colocation.policies.dstack.knee import (
    KneeSearchParams,
    derivative,
    knee_by_derivative,
    search_knee,
)
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.profiles.analytic import Analytic

MS = 1_000_000


def test_a_chain_worked_by_hand() -> None:
    model = KernelModel(4, kernels=2, parallel_time=10, serial_time=3, data_time=2, repeats=5)
    assert model.operations(1) == (4, 2)
    # Two processors: kernels take 4 x 10 / 2 and 2 x 10 / 2; each starts in 3 + 2 / 2.
    assert model.time(2) == 5 * (20 + 10) + 5 * 2 * (3 + 1)
    assert model.operations(3) == (12, 6)
    assert model.time(4, 3) == 5 * (30 + 15) + 3 * 5 * 2 * (3 + 0.5)


@pytest.mark.parametrize(("parallelism", "paper"), [(20, 9), (40, 24), (60, 31)])
def test_knees_of_the_paper_lie_near_half_of_the_parallelism(parallelism: int, paper: int) -> None:
    model = KernelModel(parallelism)
    knee = knee_by_derivative(model.time, range(1, 81))
    assert knee == parallelism // 2
    assert abs(knee - paper) <= 4
    assert all(
        derivative(model.time, knee) >= derivative(model.time, other) for other in range(1, 81)
    )


@given(
    parallelism=st.integers(1, 80),
    items=st.integers(1, 16),
    processors=st.integers(1, 79),
)
def test_more_processors_never_take_longer_and_more_items_always_do(
    parallelism: int, items: int, processors: int
) -> None:
    model = KernelModel(parallelism, kernels=9, data_time=3)
    assert model.time(processors + 1, items) <= model.time(processors, items)
    assert model.time(processors, items + 1) > model.time(processors, items)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parallelism": 0}, "parallelism must be >= 1"),
        ({"parallelism": 2, "kernels": 0}, "kernels must be >= 1"),
        ({"parallelism": 2, "parallel_time": 0.0}, "parallel_time must be > 0"),
        ({"parallelism": 2, "serial_time": -1.0}, "serial_time must be >= 0"),
    ],
)
def test_bad_kernel_models_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KernelModel(**options)  # type: ignore[arg-type]


def test_a_profile_of_the_model_counts_whole_processors() -> None:
    profile = Analytic(parallelism=40, unit_ns=1000, processors=80)
    model = KernelModel(40)
    assert profile.latency_ns(1, 0, 25) == round(1000 * model.time(20))
    assert profile.latency_ns(1, 0, 26) == profile.latency_ns(1, 0, 25)
    assert profile.latency_ns(2, 0, 1) == round(1000 * model.time(1, 2))
    with pytest.raises(ValueError, match="unit_ns and processors"):
        Analytic(parallelism=40, unit_ns=0)


@given(knee=st.integers(5, 100), step=st.integers(1, 10))
def test_a_measured_knee_is_within_a_step_and_takes_few_runs(knee: int, step: int) -> None:
    found = search_knee(
        lambda share: max(1.0, knee / share), KneeSearchParams(tolerance=0.01, step=step)
    )
    least = knee / 1.01
    assert least <= found.share < least + step + 1
    assert found.tried[:2] == (100, 30)
    assert len(found.tried) <= 9


def affine(took_ms: float, knee: int) -> Affine:
    return Affine(round(0.3 * took_ms * MS), round(0.7 * took_ms * MS / 16), knee)


def test_efficacy_worked_by_hand() -> None:
    point = point_of(lambda items, share: 20 * MS, 8, 40)
    assert point == OperatingPoint(8, 40, 20 * MS, pytest.approx(8 / 0.02**2 / 40))


@given(
    took_ms=st.floats(2, 40),
    knee=st.integers(10, 100),
    slo_ms=st.integers(20, 200),
    rate_per_s=st.floats(20, 800),
    max_batch=st.sampled_from([1, 2, 7, 16, 40]),
)
@settings(max_examples=15, deadline=None)
def test_the_program_finds_what_trying_everything_finds(
    took_ms: float, knee: int, slo_ms: int, rate_per_s: float, max_batch: int
) -> None:
    profile = affine(took_ms, knee)
    limits = Limits(max_batch, slo_ms * MS, rate_per_s)

    def latency_ns(items: int, share: int) -> int:
        return profile.latency_ns(items, 0, share)

    best = exhaustive(latency_ns, limits)
    found = optimise(latency_ns, limits)
    assert (best is None) == (found is None)
    if best is not None and found is not None:
        assert limits.excess(found.items, found.latency_ns) <= 0
        assert found.efficacy >= 0.9 * best.efficacy


def test_the_limits_are_those_of_equations_11_and_12() -> None:
    limits = Limits(16, 50 * MS, 200.0)
    assert limits.assembly_ns(5) == 20 * MS
    assert limits.excess(5, 25 * MS) == 0
    assert limits.excess(7, 20 * MS) == 0
    assert limits.excess(2, 26 * MS) > 0
    assert Limits(16, 50 * MS, 200.0, halved=False).excess(2, 45 * MS) == 0
    with pytest.raises(ValueError, match="must be > 0"):
        Limits(16, 50 * MS, 0.0)
