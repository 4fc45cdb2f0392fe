"""The tuning loop on a machine of known truth and a clock that only its runs move."""

from __future__ import annotations

from typing import Any

import pytest

from surplus.engine.errors import ConfigError
from surplus.engine.planning.proposals import Key, key_of
from surplus.engine.planning.tune_params import TuneParams
from surplus.engine.planning.tuning import Tuned, Tuner
from surplus.engine.segmentation.segmenter import Candidate
from tests.pipeline.tuning_world import (
    GUESS,
    LINEAR,
    SHORTEST_NS,
    TRUTH,
    FakeContender,
    Machine,
    cut,
)


def _tuned(machine: Machine, time_s: float = 20.0, **params: Any) -> Tuned[FakeContender]:
    tuned = machine.tune(time_s, **params)
    assert tuned is not None
    return tuned


def _whole_true_ns(machine: Machine) -> int:
    return min(FakeContender(machine, c).true_ns() for c in cut(machine.truth) if c.is_trivial)


def test_the_best_plan_is_found_although_the_profile_is_wrong() -> None:
    machine = Machine(TRUTH)
    tuned = _tuned(machine)
    assert tuned.best.contender.true_ns() <= 1.02 * SHORTEST_NS
    # Two lanes for the head, one for each half of the branches.
    assert [g.width for g in tuned.best.candidate.graph.groups][:3] == [2, 1, 1]
    first = next(row for row in tuned.report.rounds[0].tried if row.segments > 1)
    assert first.measured_ns > 1.2 * SHORTEST_NS
    ratio = tuned.report.against_whole
    assert ratio is not None
    assert ratio.high < 0.65
    assert tuned.report.whole == "whole x2"


def test_predictions_of_plans_never_run_become_better() -> None:
    report = _tuned(Machine(TRUTH)).report
    first = [row.error for row in report.rounds[0].tried]
    known = {row.name for row in report.rounds[0].tried}
    later = [r.error for played in report.rounds[1:] for r in played.tried if r.name not in known]
    assert max(first) > 0.3
    assert later
    assert max(later) < 0.05


def test_a_device_of_given_times_teaches_only_its_hand_overs() -> None:
    """All tasks sit on a device that is charged what the profile says."""
    report = _tuned(Machine(TRUTH), fixed_devices=frozenset({0})).report
    first, second = (played.tried for played in report.rounds[:2])
    known = {row.name for row in first}
    again = [row for row in second if row.name in known]
    unseen = [row for row in second if row.name not in known]
    assert max(row.error for row in again) < 0.01
    assert min(row.error for row in unseen) > 0.1


def test_equal_machines_give_equal_results() -> None:
    assert _tuned(Machine(TRUTH, scatter=0.1)).report == _tuned(Machine(TRUTH, scatter=0.1)).report


def test_whole_models_are_always_tried_and_stay_where_nothing_gains() -> None:
    tuned = _tuned(Machine(LINEAR))
    assert [row.name for row in tuned.report.rounds[0].tried][:2] == ["whole x1", "whole x2"]
    assert tuned.best.candidate.name == tuned.report.chosen == "whole x2"
    assert tuned.report.against_whole is None
    assert tuned.report.stopped == "nothing is predicted to gain 1 %"


@pytest.mark.parametrize("seed", range(4))
def test_a_restless_machine_teaches_nothing_wrong(seed: int) -> None:
    """Its speed changes by half every 0.7 s, and single queries scatter by a tenth."""
    machine = Machine(TRUTH, scatter=0.1)
    machine.random.seed(seed)
    machine.slowness = lambda now_ns: 1.5 if now_ns // 700_000_000 % 2 else 1.0
    tuned = _tuned(machine)
    assert tuned.best.contender.true_ns() <= 1.1 * SHORTEST_NS


@pytest.mark.parametrize("seed", range(4))
def test_noise_alone_makes_no_plan_slower_than_the_whole_model(seed: int) -> None:
    machine = Machine(LINEAR, scatter=0.2)
    machine.random.seed(seed)
    assert _tuned(machine).best.contender.true_ns() <= 1.01 * _whole_true_ns(machine)


@pytest.mark.parametrize("time_s", [0.3, 1.0, 3.0])
def test_the_time_is_kept(time_s: float) -> None:
    machine = Machine(TRUTH, scatter=0.05)
    tuned = _tuned(machine, time_s)
    # What is begun is finished: the first three rounds of all plans.
    slowest_ns = max(FakeContender(machine, c).true_ns() for c in cut(TRUTH))
    assert machine.clock.now_ns <= time_s * 1e9 + 4 * 5 * slowest_ns
    assert tuned.report.time_s == pytest.approx(machine.clock.now_ns / 1e9)


def test_no_time_for_another_round() -> None:
    assert _tuned(Machine(TRUTH), 0.3).report.stopped == "the time is spent"


def test_luck_does_not_win_twice() -> None:
    """Cut plans take less than their true time in their first comparison."""
    first_comparison = 2 + 8

    def luck(candidate: Candidate, runs: int) -> float:
        return 0.7 if not candidate.is_trivial and runs < first_comparison else 1.0

    tuned = _tuned(Machine(LINEAR, luck=luck))
    assert tuned.report.rounds[0].best.startswith(("fan", "slab"))
    assert tuned.best.candidate.name == tuned.report.chosen == "whole x2"


def test_what_a_device_refuses_is_left_out() -> None:
    tuned = _tuned(Machine(TRUTH, refuses=lambda c: not c.is_trivial))
    assert tuned.best.candidate.name == "whole x2"
    assert tuned.report.stopped == "nothing gained when measured"


def test_nothing_can_be_built() -> None:
    assert Machine(TRUTH, refuses=lambda c: True).tune() is None


def test_no_plan_is_built_twice() -> None:
    built: set[Key] = set()

    def refuse_known(candidate: Candidate) -> bool:
        assert key_of(candidate) not in built
        built.add(key_of(candidate))
        return False

    report = _tuned(Machine(TRUTH, scatter=0.2, refuses=refuse_known)).report
    assert len(built) > 4
    names = [row.name for row in report.rounds[-1].tried]
    assert len(set(names)) == len(names)


def test_plans_are_built_under_the_names_that_the_report_has() -> None:
    machine = Machine(TRUTH, scatter=0.2)
    tuned = _tuned(machine)
    told = {row.name for played in tuned.report.rounds for row in played.tried}
    assert told == set(machine.built)
    assert any(name.endswith(" (2)") for name in told)
    assert tuned.best.contender.candidate.name == tuned.report.chosen


def test_progress_is_shown_in_seconds() -> None:
    machine = Machine(TRUTH)
    seen: list[tuple[str, int, int]] = []
    tuner = Tuner(
        GUESS,
        cut,
        machine.build,
        TuneParams(5.0),
        machine.clock,
        lambda *row: seen.append(row),
    )
    tuner.run(list(cut(GUESS))[:3])
    assert {(stage, total) for stage, _, total in seen} == {("tune (s)", 5)}
    done = [row[1] for row in seen]
    assert done == sorted(done)
    assert done[-1] == 5


@pytest.mark.parametrize("time_s", [0, -1, float("nan"), float("inf")])
def test_a_time_out_of_range(time_s: float) -> None:
    with pytest.raises(ConfigError, match="time to tune must be > 0 seconds"):
        TuneParams(time_s)
