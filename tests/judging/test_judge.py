"""A plan judged again while it serves, on a made-up machine that others use or do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from surplus.engine.judging.judge import Judge
from surplus.engine.judging.judge_params import JudgeParams
from surplus.engine.judging.plan_trial import PlanTrial
from surplus.engine.profiling.disturbance import Disturbance
from surplus.engine.runtime.same_bits import same_bits
from surplus.engine.segmentation.judgement import Judgement, RunnerUp, TrialOutcome
from surplus.engine.segmentation.plan import Plan
from surplus.placement.records import read_record
from tests.runtime.pretended import Clock

MS = 1_000_000
S = 1_000_000_000
QUIET_NS = {"whole x1": 34 * MS, "whole x2": 18 * MS, "cut": 9 * MS}
BUSY_NS = {"whole x1": 34 * MS, "whole x2": 64 * MS, "cut": 64 * MS}
"""DenseNet-121 on two cores, of which another process takes none or one (measured)."""


@dataclass
class World:
    """A model that answers one query after the other."""

    running: Plan
    clock: Clock = field(default_factory=Clock)
    taken: float = 0.0
    opened: list[str] = field(default_factory=list)
    kept: list[tuple[str, Judgement]] = field(default_factory=list)
    any_bits: bool = False
    is_answering: bool = True
    trial: PlanTrial | None = None
    is_due: bool = False
    looks: int = 0

    @property
    def plan(self) -> Plan:
        return self.running

    def may_answer(self, plan: Plan) -> bool:
        return self.any_bits or same_bits(plan, self.running)

    def prepare(self, plan: Plan) -> Any:
        self.opened.append(plan.name)
        return SimpleNamespace(plan=plan)

    def take_over(self, prepared: Any) -> bool:
        self.running = prepared.plan
        return True

    def try_beside(self, trial_of: Callable[[Any, Any], PlanTrial]) -> PlanTrial:
        own: Any = SimpleNamespace(plan=self.running)
        self.looks += 1
        self.trial = trial_of(own, None)
        return self.trial

    def judge(self) -> int | None:
        """Nobody watches it: the tests step its judge."""

    def go_on(self, trial: PlanTrial) -> bool:
        self.trial = trial
        return True

    def end_trial(self) -> None:
        self.trial = None

    def due(self) -> None:
        self.is_due = True

    def keep(self, plan: Plan, judgement: Judgement) -> None:
        self.kept.append((plan.name, judgement))

    def watch(self) -> Any:
        tell = lambda *_: Disturbance(taken=self.taken)  # noqa: E731
        return SimpleNamespace(lately=tell, overall=tell)

    def query(self) -> None:
        times = QUIET_NS if self.taken < 0.1 else BUSY_NS
        if self.trial is None:
            self.clock.now_ns += times[self.running.name]
            return
        ask = self.trial.begin()
        self.clock.now_ns += times[ask.prepared.plan.name]
        self.trial.answered(ask)

    def serve(self, judge: Judge, seconds: float, gap_ns: int = 0) -> int:
        """Ask one query after the other, by default without a gap; how often the judge stepped."""
        end_ns = self.clock.now_ns + round(seconds * S)
        due_ns: int | None = self.clock.now_ns
        steps = 0
        while self.clock.now_ns < end_ns:
            if self.is_due or (due_ns is not None and self.clock.now_ns >= due_ns):
                self.is_due = False
                after_ns = judge.step(self)
                due_ns = None if after_ns is None else self.clock.now_ns + after_ns
                steps += 1
            self.query()
            self.clock.now_ns += gap_ns
        return steps


class Costly(Clock):
    """A look at it takes time."""

    def __init__(self, look_ns: int) -> None:
        super().__init__()
        self._look_ns = look_ns

    def __call__(self) -> int:
        self.now_ns += self._look_ns
        return self.now_ns


def _judgement(taken: float, measured_ns: int, *runners_up: Plan) -> Judgement:
    found = Disturbance(taken=taken)
    others = tuple(RunnerUp.of(plan, 1.2) for plan in runners_up)
    return Judgement(1_000, found, not found.is_quiet, measured_ns, measured_ns, others)


def _judge(world: World, judgement: Judgement) -> Judge:
    return Judge(
        world.running,
        judgement,
        world.keep,
        world.due,
        watch=world.watch,
        clock=world.clock,
        now_s=lambda: 2_000.0,
    )


def test_a_plan_made_beside_a_busy_process_is_replaced_once_that_is_gone(
    narrow: Plan, wide: Plan
) -> None:
    world = World(narrow)
    judge = _judge(world, _judgement(0.4, 34 * MS, wide))
    world.serve(judge, 30)
    assert world.running == wide
    ((name, judgement),) = world.kept
    assert name == "whole x2"
    assert not judgement.provisional
    assert (judgement.at_s, judgement.measured_ns) == (2_000, 18 * MS)
    (record,) = judgement.trials
    assert record.outcome is TrialOutcome.TOOK_OVER
    assert record.ratio.median == pytest.approx(18 / 34)
    (runner_up,) = judgement.runners_up
    assert (runner_up.name, runner_up.read()) == ("whole x1", narrow)
    assert runner_up.ratio == pytest.approx(34 / 18)


def test_a_provisional_plan_that_was_right_is_kept_and_stored_as_judged(
    narrow: Plan, wide: Plan
) -> None:
    world = World(wide)
    judge = _judge(world, _judgement(0.4, 64 * MS, narrow))
    world.serve(judge, 30)
    assert world.running == wide
    ((name, judgement),) = world.kept
    assert (name, judgement.provisional) == ("whole x2", False)
    assert judgement.trials[0].outcome is TrialOutcome.KEPT


def test_beside_a_busy_process_another_plan_runs_but_is_not_stored(
    narrow: Plan, wide: Plan
) -> None:
    world = World(wide)
    judge = _judge(world, _judgement(0.0, 18 * MS, narrow))
    world.serve(judge, 5)
    assert world.opened == []
    world.taken = 0.4
    world.serve(judge, 30)
    assert world.running == narrow
    name, judgement = world.kept[-1]
    assert (name, judgement.at_s, judgement.provisional) == ("whole x2", 1_000, False)
    assert judgement.trials[-1].outcome is TrialOutcome.TOOK_OVER
    world.taken = 0.0
    world.serve(judge, 30)
    assert world.running == wide
    assert [name for name, _ in world.kept] == ["whole x2"] * 2


def test_nothing_is_tried_as_long_as_nothing_changes(narrow: Plan, wide: Plan) -> None:
    world = World(wide)
    judge = _judge(world, _judgement(0.0, 18 * MS, narrow))
    world.serve(judge, 60)
    assert world.opened == []
    assert world.kept == []
    for _ in range(1_000):  # as where other models wake the thread
        judge.step(world)
    assert world.looks <= 61


@pytest.mark.parametrize("times_slower", [1.5, 20.0])
def test_it_costs_a_hundredth_of_the_queries_time(
    narrow: Plan, wide: Plan, monkeypatch: pytest.MonkeyPatch, times_slower: float
) -> None:
    monkeypatch.setitem(QUIET_NS, "whole x1", round(18 * MS * times_slower))
    world = World(wide)
    judge = _judge(world, _judgement(0.4, 64 * MS, narrow))
    world.serve(judge, 300)
    assert world.opened
    assert judge.share.lost_ns > 0
    assert judge.share.lost_ns <= judge.share.queries_ns / 100


def test_trials_that_change_nothing_grow_rare(narrow: Plan, wide: Plan) -> None:
    """Queries that always take longer than the plan says are no reason to try for ever."""
    world = World(wide)
    judge = _judge(world, _judgement(0.0, MS, narrow))
    for _ in range(100):
        judge._reference_ns = MS
        world.serve(judge, 10)
    assert 3 <= len(world.opened) <= 9


@pytest.mark.parametrize("times_slower", [1.02, 1.5])
def test_taking_part_in_trials_is_charged(
    narrow: Plan, wide: Plan, monkeypatch: pytest.MonkeyPatch, times_slower: float
) -> None:
    """Of queries of 30 µs that routing makes a third slower; all are counted here."""
    plain_ns, own_ns = 30_000, 2_500
    monkeypatch.setitem(QUIET_NS, "whole x2", plain_ns)
    monkeypatch.setitem(QUIET_NS, "whole x1", round(plain_ns * times_slower))
    world = World(wide, clock=Costly(own_ns))
    judge = _judge(world, _judgement(0.4, 2 * plain_ns, narrow))
    queries = 0
    ask = world.query

    def counted() -> None:
        nonlocal queries
        queries += 1
        ask()

    monkeypatch.setattr(world, "query", counted)
    world.serve(judge, 6)
    assert world.opened
    assert judge.judgement.trials, "one was decided"
    assert world.clock.now_ns <= 1.01 * queries * plain_ns


def test_queries_between_looks_count_until_a_trial_can_be_afforded(
    narrow: Plan, wide: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUIET_NS, "whole x1", MS)
    monkeypatch.setitem(QUIET_NS, "whole x2", MS // 2)
    world = World(narrow)
    world.serve(_judge(world, _judgement(0.4, MS, wide)), 10)
    assert world.running == wide


def test_plans_of_other_bits_are_not_tried_unless_any_will_do(
    narrow: Plan, wide: Plan, cut: Plan
) -> None:
    for any_bits, expected in ((False, wide), (True, cut)):
        world = World(narrow, any_bits=any_bits)
        world.serve(_judge(world, _judgement(0.4, 34 * MS, wide, cut)), 60)
        assert world.running != narrow
        assert world.running.name == expected.name


def test_plans_of_other_devices_are_not_opened_beside_queries(narrow: Plan, wide: Plan) -> None:
    gpu = replace(wide, name="on the gpu", devices=("emulated:gpu",))
    world = World(narrow, any_bits=True)
    world.serve(_judge(world, _judgement(0.4, 34 * MS, gpu)), 30)
    assert world.opened == []


def test_without_queries_there_is_nothing_to_judge(narrow: Plan, wide: Plan) -> None:
    world = World(narrow, is_answering=False)
    judge = _judge(world, _judgement(0.4, 34 * MS, wide))
    for _ in range(100):
        judge.step(world)
        world.clock.now_ns += S
    assert world.opened == []


def test_while_no_query_comes_no_step_is_due(narrow: Plan, wide: Plan) -> None:
    for taken in (0.0, 0.4):
        world = World(narrow)
        judge = _judge(world, _judgement(taken, 34 * MS, wide))
        world.serve(judge, 60)
        steps = 0
        while (after_ns := judge.step(world)) is not None:
            world.clock.now_ns += after_ns
            steps += 1
        assert steps <= 20
        for _ in range(8):
            world.is_due = False
            world.query()
        assert world.is_due, "whoever ends the look calls"


def test_sparse_queries_are_looked_at_more_rarely(narrow: Plan, wide: Plan) -> None:
    steps = {}
    for gap_ns in (300 * MS, 4_000 * MS):
        world = World(wide)
        judge = _judge(world, _judgement(0.0, 18 * MS, narrow))
        world.serve(judge, 100, gap_ns)
        steps[gap_ns] = world.serve(judge, 10_000, gap_ns)
    assert steps[300 * MS] > 2.5 * steps[4_000 * MS]


def test_queries_that_always_overlap_are_seldom_looked_at(narrow: Plan, wide: Plan) -> None:
    """The front end answers them meanwhile, which takes a tenth of the time."""
    world = World(narrow)
    judge = _judge(world, _judgement(0.4, 34 * MS, wide))
    looked_at = {True: 0, False: 0}
    before = None
    for _ in range(20_000):
        if world.trial is None or before is not None or world.is_due:
            judge.step(world)
            world.is_due = False
        looked_at[world.trial is not None] += 1
        if world.trial is None:
            before = None
            world.clock.now_ns += 5 * MS
            continue
        ask = world.trial.begin()
        world.clock.now_ns += 5 * MS
        if before is not None and before in world.trial._open:
            world.trial.answered(before)
        before = ask
    assert looked_at[True] < 0.2 * looked_at[False]
    assert world.running is narrow


def test_a_trial_that_was_crowded_out_is_made_once_there_is_room(narrow: Plan, wide: Plan) -> None:
    world = World(narrow)
    judge = _judge(world, _judgement(0.4, 34 * MS, wide))
    while world.trial is None or world.trial.runner_up is None:
        judge.step(world)
        world.query()
    before = world.trial.begin()
    for _ in range(64):
        ask = world.trial.begin()
        world.clock.now_ns += MS
        world.trial.answered(before)
        before = ask
    assert world.trial.is_crowded
    judge.step(world)
    assert world.trial is None
    assert world.running is narrow
    world.serve(judge, 60)
    assert world.running.name == wide.name


def test_a_trial_that_gets_no_queries_is_given_up(narrow: Plan, wide: Plan) -> None:
    world = World(narrow)
    judge = _judge(world, _judgement(0.4, 34 * MS, wide))
    for _ in range(1_000):
        if world.trial is not None and world.trial.runner_up is not None:
            break
        judge.step(world)
        world.query()
    assert world.opened == ["whole x2"]
    for _ in range(700):
        world.clock.now_ns += S
        judge.step(world)
    assert world.trial is None or world.trial.runner_up is None
    assert JudgeParams().longest_ns <= 700 * S


def test_a_judgement_as_json(narrow: Plan, wide: Plan, tmp_path: Path) -> None:
    world = World(narrow)
    world.serve(_judge(world, _judgement(0.4, 34 * MS, wide)), 30)
    ((_, judgement),) = world.kept
    assert read_record(Judgement, judgement.to_dict(), "judgement") == judgement
    assert judgement.trials[0].text.startswith("whole x2 takes 0.529 of whole x1 in 8 pairs")
