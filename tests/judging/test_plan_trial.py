"""A runner-up beside the plan in service: by every way to ask, alone, overlapping and failing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import InputError
from surplus.engine.judging.paired_turns import PairParams
from surplus.engine.judging.plan_trial import PlanTrial
from surplus.engine.profiling.intervals import Verdict
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.share import Share
from surplus.engine.segmentation.plan import Plan
from tests.runtime.pretended import Clock
from tests.runtime.runtime_models import ADDED, SUM

MS = 1_000_000
PLAN: Any = SimpleNamespace(name="plan")
RUNNER_UP: Any = SimpleNamespace(name="runner-up")
BUSY: Any = SimpleNamespace(name="busy")


def _beside(model: PlannedModel, plan: Plan, share: Share) -> PlanTrial:
    runner_up = model.prepare(plan)
    return model.try_beside(
        lambda own, switch: PlanTrial(own, runner_up, switch, share, lambda: None)
    )


class Overlaps:
    """A throughput plan that is used when it is told."""

    def __init__(self) -> None:
        self.is_used = False
        self.answers = 0

    def now(self) -> Any:
        return BUSY if self.is_used else None

    def answered(self, began_ns: int) -> None:
        self.answers += 1


class World:
    """A trial whose queries take made-up times, one after the other or not."""

    def __init__(self, own_ns: int, other_ns: int, share: Share | None = None) -> None:
        self.clock = Clock()
        self.took = {id(PLAN): own_ns, id(RUNNER_UP): other_ns, id(BUSY): own_ns}
        self.busy = Overlaps()
        self.share = share or Share(1.0)
        self.calls: list[None] = []
        busy: Any = self.busy
        ended = lambda: self.calls.append(None)  # noqa: E731
        params = PairParams(turn_ns=0)
        self.trial = PlanTrial(
            PLAN, RUNNER_UP, busy, self.share, ended, params=params, clock=self.clock
        )

    def query(self) -> Any:
        ask = self.trial.begin()
        self.clock.now_ns += self.took[id(ask.prepared)]
        self.trial.answered(ask)
        return ask.prepared

    def until_over(self, most: int = 500) -> int:
        for count in range(most):
            if self.trial.is_over:
                return count
            self.query()
        raise AssertionError("it does not end")


def test_the_faster_one_is_found_and_it_is_told() -> None:
    world = World(10 * MS, 6 * MS)
    assert world.until_over() <= 18
    assert world.trial.verdict is Verdict.FASTER
    assert world.trial.ratio is not None
    assert world.trial.ratio.median == pytest.approx(0.6)
    assert (world.trial.plan_ns, world.trial.runner_up_ns) == (10 * MS, 6 * MS)
    assert world.trial.lost_ns == 0
    assert world.calls == [None]


@pytest.mark.parametrize("times_slower", [1.1, 2.0, 50.0])
def test_a_slower_one_costs_a_hundredth_of_the_queries_time(times_slower: float) -> None:
    share = Share()
    world = World(10 * MS, round(10 * MS * times_slower), share)
    world.until_over(500_000)
    assert world.trial.verdict is Verdict.SLOWER
    assert world.trial.lost_ns == share.lost_ns
    # It is paid before the next pair begins; the first one is taken on trust, the last one is due.
    pair_ns = round(10 * MS * (times_slower - 1))
    assert share.lost_ns - 2 * pair_ns <= share.queries_ns / 100
    for _ in range(round(2 * pair_ns * 100 / (10 * MS)) + 1):
        assert world.query() is PLAN
    assert share.lost_ns <= share.queries_ns / 100


def test_the_next_query_says_that_the_look_is_over_of_one_that_was_submitted() -> None:
    """Nobody else would: the thread that judges sleeps until then."""
    calls: list[None] = []
    share = Share(1.0)
    trial = PlanTrial(PLAN, None, None, share, lambda: calls.append(None), look=1, clock=Clock())
    run: Any = SimpleNamespace(done=False, status="ok", spans=lambda: np.array([[0, 0, 0, 0, MS]]))
    trial.begin().run = run
    run.done = True
    assert calls == []
    trial.begin()
    assert calls == [None]
    assert share.queries_ns == MS


def test_overlapping_queries_neither_count_nor_go_to_the_runner_up() -> None:
    world = World(10 * MS, 6 * MS)
    for _ in range(20):
        first, second = world.trial.begin(), world.trial.begin()
        world.clock.now_ns += 30 * MS
        world.trial.answered(second)
        world.trial.answered(first)
    assert world.trial.ratio is None
    assert world.trial.plan_ns == 0
    assert world.share.queries_ns == 40 * 30 * MS
    world.busy.is_used = True
    assert [world.query() for _ in range(20)] == [BUSY] * 20
    assert world.trial.ratio is None
    assert world.busy.answers == 60
    world.busy.is_used = False
    world.until_over()
    assert world.trial.verdict is Verdict.FASTER


def test_a_query_that_another_joins_does_not_count() -> None:
    world = World(10 * MS, 6 * MS)
    world.query()
    runner_up = world.trial.begin()
    assert runner_up.prepared is RUNNER_UP
    joining = world.trial.begin()
    assert joining.prepared is PLAN
    world.clock.now_ns += 90 * MS
    world.trial.answered(joining)
    world.trial.answered(runner_up)
    assert world.trial.ratio is None
    assert world.trial.lost_ns == 80 * MS


def test_queries_that_fail_leave_nothing_open() -> None:
    world = World(10 * MS, 6 * MS)
    for _ in range(3):
        with pytest.raises(KeyError), world.trial.query():
            raise KeyError
    world.until_over()
    assert world.trial.verdict is Verdict.FASTER


def test_without_a_runner_up_it_notes_what_queries_take() -> None:
    clock, calls = Clock(), []
    trial = PlanTrial(PLAN, None, None, Share(), lambda: calls.append(None), look=3, clock=clock)
    for time_ms in (5, 9, 7):
        assert not trial.is_over
        ask = trial.begin()
        clock.now_ns += time_ms * MS
        trial.answered(ask)
    assert trial.is_over
    assert trial.plan_ns == 7 * MS
    assert calls == [None]


WAYS = {
    "run": lambda model: model.run(ADDED),
    "run with a timeout": lambda model: model.run(ADDED, timeout_s=60),
    "submit": lambda model: model.submit(ADDED).result(),
    "infer": lambda model: asyncio.run(model.infer(ADDED)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_ask_takes_part(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine, way: str
) -> None:
    model = PlannedModel(graph, narrow, machine)
    share = Share(1.0)
    share.earn(10**12)
    trial = _beside(model, wide, share)
    for _ in range(2_000):
        if trial.is_over:
            break
        np.testing.assert_array_equal(WAYS[way](model)["y"], SUM)
    trial.collect()
    assert trial.is_over
    assert trial.plan_ns > 0
    assert trial.runner_up_ns > 0
    assert model.take_over(trial.runner_up)
    model.end_trial()
    np.testing.assert_array_equal(WAYS[way](model)["y"], SUM)


@pytest.mark.parametrize("way", ["run", "submit", "infer"])
def test_a_query_that_is_refused_takes_no_part(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine, way: str
) -> None:
    model = PlannedModel(graph, narrow, machine)
    trial = _beside(model, wide, Share())
    wrong = {"x": ADDED["x"]}
    ask = {
        "run": lambda: model.run(wrong),
        "submit": lambda: model.submit(wrong),
        "infer": lambda: asyncio.run(model.infer(wrong)),
    }[way]
    with pytest.raises(InputError, match="shift"):
        ask()
    assert trial.begin().is_alone


def test_a_traced_query_is_the_plans_own(
    graph: Graph, narrow: Plan, wide: Plan, machine: _core.Machine
) -> None:
    model = PlannedModel(graph, narrow, machine)
    trial = _beside(model, wide, Share())
    model.run(ADDED, traced=True)
    assert len(model.timeline().spans[0].lanes) == 1
    assert trial.queries_ns == 0


def _overlap(trial: PlanTrial, clock: Clock, count: int) -> None:
    """Queries of which another one is always in flight."""
    before = trial.begin()
    for _ in range(count):
        ask = trial.begin()
        clock.now_ns += MS
        trial.answered(before)
        before = ask
    trial.failed(before)


@pytest.mark.parametrize("runner_up", [None, RUNNER_UP])
def test_where_queries_always_overlap_it_is_crowded_and_says_so(runner_up: Any) -> None:
    calls: list[None] = []
    clock = Clock()
    trial = PlanTrial(PLAN, runner_up, None, Share(1.0), lambda: calls.append(None), clock=clock)
    _overlap(trial, clock, 60)
    assert not trial.is_crowded
    assert calls == []
    _overlap(trial, clock, 4)
    assert trial.is_crowded
    assert not trial.is_over
    assert calls


def test_some_overlap_is_no_crowd() -> None:
    world = World(10 * MS, 12 * MS)
    for _ in range(10):
        _overlap(world.trial, world.clock, 10)
        for _ in range(3):
            world.query()
    assert not world.trial.is_crowded
