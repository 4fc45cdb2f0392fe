"""Algorithm 1 on small sets of candidates; the choice of a version, and what pressure it sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.colocation.policies.veltair.pressure import LinearProxy
from surplus.colocation.policies.veltair.versions import (
    VersionCandidate,
    VersionChoice,
    dominant,
    picked,
    pruned,
)

FAST, WIDE, BOTH, SLOW = (
    VersionCandidate(2, 8, 50),
    VersionCandidate(8, 2, 60),
    VersionCandidate(8, 8, 40),
    VersionCandidate(1, 1, 200),
)


def test_the_frontier_has_who_meets_the_target_and_is_not_beaten_in_both() -> None:
    assert dominant([BOTH, FAST, WIDE, SLOW], 100) == (WIDE, FAST)
    assert dominant([BOTH, FAST, WIDE, SLOW], 200) == (SLOW,)
    assert dominant([FAST], 49) == ()


CANDIDATES = st.builds(VersionCandidate, st.integers(1, 6), st.integers(1, 6), st.integers(1, 20))


@given(candidates=st.lists(CANDIDATES, max_size=15), target=st.integers(1, 20))
def test_every_other_candidate_is_beaten_by_one_of_the_frontier(
    candidates: list[VersionCandidate], target: int
) -> None:
    front = dominant(candidates, target)

    def beats(a: VersionCandidate, b: VersionCandidate) -> bool:
        return a.block <= b.block and a.parallelism <= b.parallelism

    for one in candidates:
        if one.time_ns <= target:
            assert any(beats(best, one) for best in front)
    assert not any(beats(a, b) for a in front for b in front if a is not b)


def test_five_are_picked_evenly() -> None:
    front = tuple(VersionCandidate(20 - k, k + 1, 1) for k in range(9))
    assert [c.block for c in picked(front)] == [1, 3, 5, 7, 9]
    assert picked(front[:3]) == front[:3]
    assert len(picked(front, 1)) == 1
    with pytest.raises(ValueError, match="most must be >= 1"):
        picked(front, 0)


def test_versions_that_are_hardly_missed_go() -> None:
    # Times of versions at three levels; the second one is never better than the others by 10 %.
    assert pruned([[10, 20, 70], [10.5, 19, 60], [14, 16, 20]]) == (0, 2)
    assert pruned([[10, 20, 70], [14, 16, 20]], kept=0.7) == (1,)
    assert pruned([[5, 5], [5, 5]]) in {(0,), (1,)}
    with pytest.raises(ValueError, match="a time for each level"):
        pruned([[1, 2], [1]])
    with pytest.raises(ValueError, match="kept must be"):
        pruned([[1]], kept=0)


def test_a_version_is_changed_only_for_a_gain() -> None:
    choice = VersionChoice([1.0, 1.2], [1.0, 0.0], hysteresis=0.1)
    # Equal at a pressure of 0.2; ten percent better than 1 + p at 0.34, than 1.2 at 0.08.
    assert [choice.at(p) for p in (0.0, 0.3, 0.34, 0.3, 0.1, 0.07)] == [0, 0, 1, 1, 1, 0]
    with pytest.raises(ValueError, match="1 times, 2 sensitivities"):
        VersionChoice([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="must be >= 0"):
        VersionChoice([1.0], [1.0], hysteresis=-1)


def test_the_proxy_finds_a_line_and_says_nothing_before() -> None:
    proxy = LinearProxy()
    for k in range(7):
        proxy.observe(k / 10, 0.1 + 2 * k / 10)
    assert proxy.at(0.5) == 0.0
    proxy.observe(0.7, 1.5)
    assert proxy.at(0.5) == pytest.approx(1.1)
    assert proxy.at(-1.0) == 0.0
    flat = LinearProxy()
    for _ in range(20):
        flat.observe(0.5, 1.0)
    assert flat.line() == (0.0, 0.0)


def test_the_proxy_follows_what_changes() -> None:
    proxy = LinearProxy(forget=0.9)
    for k in range(200):
        proxy.observe(k % 5, (1.0 if k < 100 else 3.0) * (k % 5))
    assert proxy.line()[1] == pytest.approx(3.0, rel=1e-3)
