"""D-STACK's sessions: plans, the timetable that repeats them, the scoreboard, the ideal."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surplus.colocation.policies.dstack.free_time import FOREVER_NS, Held, free_until_ns
from surplus.colocation.policies.dstack.kernel_ideal import KernelChain, ideal_schedule
from surplus.colocation.policies.dstack.scoreboard import Scoreboard
from surplus.colocation.policies.dstack.session_plan import (
    Runner,
    Turn,
    plan_session,
    session_length_ns,
)
from surplus.colocation.policies.dstack.timetable import Timetable

ALEXNET, RESNET50, VGG19 = Runner(0, 30, 8, 25), Runner(1, 40, 28, 50), Runner(2, 50, 55, 100)
"""Table VI, in milliseconds."""


def test_the_papers_three_models_fit_once_per_target_in_60_percent() -> None:
    plan = plan_session([ALEXNET, RESNET50, VGG19], 100)
    assert not plan.missing
    assert plan.utilisation == 0.595
    assert [turn.runner for turn in plan.turns].count(0) == 4


def test_slices_in_proportion_to_targets_use_44_percent() -> None:
    used = sum(r.share_percent * r.period_ns for r in (ALEXNET, RESNET50, VGG19))
    assert round(used / sum(r.period_ns for r in (ALEXNET, RESNET50, VGG19))) == 44


def test_a_session_is_the_largest_target_of_at_most_200_windows() -> None:
    ms = 1_000_000
    assert session_length_ns([25 * ms, 50 * ms, 100 * ms]) == 100 * ms
    hour_ns = 3_600_000 * ms
    session_ns = session_length_ns([10 * ms, hour_ns])
    plan = plan_session([Runner(0, 40, 3 * ms, 10 * ms), Runner(1, 50, ms, hour_ns)], session_ns)
    assert len(plan.turns) == 200
    assert not plan.missing
    assert {turn.runner for turn in plan.turns} == {0, 1}
    assert session_length_ns([ms] * 500) == ms


def test_runs_of_the_shortest_target_are_kept_apart() -> None:
    late_first = Runner(1, 80, 12, 100)
    together = [Runner(0, 30, 5, 25), late_first]
    starts = [t.start_ns for t in plan_session(together, 100).turns if t.runner == 0]
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    assert gaps == [25, 25, 25]


RUNNERS = st.lists(
    st.builds(
        Runner,
        service=st.just(0),
        share_percent=st.integers(1, 100),
        run_ns=st.integers(1, 20),
        period_ns=st.sampled_from([20, 25, 40, 50, 100]),
    ),
    max_size=5,
)


@given(runners=RUNNERS, spread=st.booleans())
def test_a_plan_keeps_windows_shares_and_one_run_of_each(
    runners: list[Runner], spread: bool
) -> None:
    plan = plan_session(runners, 100, spread, attempts=8)
    for turn in plan.turns:
        runner = runners[turn.runner]
        window = turn.start_ns // runner.period_ns
        assert turn.end_ns == turn.start_ns + runner.run_ns <= (window + 1) * runner.period_ns
        beside = [t for t in plan.turns if t.start_ns <= turn.start_ns < t.end_ns]
        assert sum(t.share_percent for t in beside) <= 100
        assert [t.runner for t in beside].count(turn.runner) == 1
    placed = sorted((t.runner, t.start_ns // runners[t.runner].period_ns) for t in plan.turns)
    wanted = [(k, w) for k, r in enumerate(runners) for w in range(100 // r.period_ns)]
    assert sorted([*placed, *plan.missing]) == wanted


def test_a_plan_names_the_runs_without_room() -> None:
    plan = plan_session([Runner(0, 60, 10, 20), Runner(1, 60, 15, 20)], 20)
    assert len(plan.turns) == 1
    assert len(plan.missing) == 1


def test_a_timetable_repeats_itself_and_forgets_what_is_over() -> None:
    table = Timetable(plan_session([Runner(0, 30, 5, 25), Runner(1, 40, 10, 50)], 50))
    first = table.due(0)
    assert first == [Turn(0, 5, 0, 30), Turn(0, 10, 1, 40)]
    table.settle(first[0])
    assert table.due(3) == [Turn(0, 10, 1, 40)]
    assert table.due(10) == []
    assert table.next_ns(10) == 25
    assert [turn.start_ns for turn in table.coming(10)] == [25, 50, 50, 75]
    assert table.due(227) == [Turn(225, 230, 0, 30)]
    assert (table.session(227), table.next_ns(227)) == (4, 250)
    assert Timetable(plan_session([], 50)).next_ns(0) is None


@given(
    held=st.lists(
        st.builds(
            lambda start, length, share: Held(start, start + length, share),
            st.integers(-5, 30),
            st.integers(1, 20),
            st.integers(1, 60),
        ),
        max_size=6,
    ),
    share=st.integers(1, 100),
)
def test_a_share_is_free_until_somebody_needs_it(held: list[Held], share: int) -> None:
    def over(t: int) -> bool:
        return share + sum(h.share_percent for h in held if h.start_ns <= t < h.end_ns) > 100

    expected = next((t for t in range(60) if over(t)), FOREVER_NS)
    assert free_until_ns(share, 0, held) == expected


def test_a_scoreboard_forgets_old_sessions() -> None:
    board = Scoreboard(2)
    board.ran(7, session=0)
    board.ran(7, session=1)
    board.ran(8, session=1)
    assert [board.runs(7, 1), board.runs(8, 1), board.runs(9, 1)] == [2, 1, 0]
    assert [board.runs(7, 2), board.runs(7, 3)] == [1, 0]
    with pytest.raises(ValueError, match="sessions must be >= 1"):
        Scoreboard(0)


def test_the_ideal_runs_the_fullest_set_and_of_equals_the_most_urgent() -> None:
    # a's kernels are 60 then 20, b's 50, c's 40: a and c fill the device first.
    chains = [
        KernelChain("a", ((60, 1), (20, 1)), 9),
        KernelChain("b", ((50, 2),), 5),
        KernelChain("c", ((40, 1),), 9),
    ]
    found = ideal_schedule(chains, 3)
    assert found.chosen == ({0, 2}, {1, 2}, {1, 2})
    assert found.utilisation == pytest.approx((100 + 90 + 90) / 300)
    assert found.inferences == (0.5, 1.0, 3.0)
    twins = [KernelChain("late", ((70, 1),), 9), KernelChain("soon", ((70, 1),), 5)]
    assert ideal_schedule(twins, 1).chosen == ({1},)


def test_a_kernel_wider_than_the_device_is_refused() -> None:
    with pytest.raises(ValueError, match="101 %"):
        KernelChain("a", ((101, 1),), 5)
