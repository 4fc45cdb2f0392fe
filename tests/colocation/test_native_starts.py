"""The core chooses the same batches as its twin in Python: at each event of random runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.colocation.many_services import many_services
from surplus.colocation import simulate
from surplus.colocation.foresight.ways import way
from surplus.colocation.frame.decision import Decision
from surplus.colocation.frame.dispatcher import Context
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.state import Queue, State
from surplus.colocation.policies.setup import PolicySetup, set_up
from surplus.colocation.policies.surplus.dispatcher import Priced
from surplus.colocation.policies.surplus.market import Market
from surplus.colocation.policies.surplus.prices import price_of_waiting
from surplus.colocation.policies.surplus.promised import Promised
from surplus.colocation.predictors.serial import Serial
from surplus.colocation.simulation import simulator
from surplus.colocation.simulation.simulator import Setting
from tests.colocation.random_scenarios import random_scenario

WAYS = (
    "columns",
    "columns_filled",
    "columns_thrifty",
    "columns_urgent",
    "columns_apart",
    "columns_greedy",
    "columns_short",
    "columns_sure",
    "lanes",
    "gpulets",
    "static",
)

OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "patience": st.sampled_from([0.1, 1.0, 30.0]),
        "width": st.sampled_from([0.0, 1.0]),
        "fill": st.sampled_from([0.3, 1.0]),
        "blocking": st.sampled_from([0.3, 1.0]),
        "thrift": st.sampled_from([0.5, 1.1]),
        "together": st.booleans(),
        "groups": st.booleans(),
        "sure": st.sampled_from([0.5, 0.99]),
        "priced": st.booleans(),
        "skip": st.booleans(),
        "regroup": st.sampled_from([0.0, 0.3, 1.0]),
        "reserve": st.booleans(),
        "look_ahead": st.booleans(),
        "guarantee": st.sampled_from([0.5, 1.0]),
        "weights": st.sampled_from([{"s0": 3.0}, {"s0": 0.125}]),
    },
)


class Both:
    """Asks both choices, and does what they say if it is the same."""

    def __init__(self, kind: type[Priced], context: Context, options: dict[str, Any]) -> None:
        self._context, self._options = context, options
        self._native = kind(context, **options, native=True)
        self._twin = kind(context, **options, native=False)
        self.starts = self.drops = self.skipped = 0

    def decide(self, state: State, event: Event) -> Decision:
        found, expected = self._native.decide(state, event), self._twin.decide(state, event)
        assert found == expected
        self.starts += len(found.starts)
        self.drops += len(found.drops)
        self.skipped += bool(found.starts and found.drops)
        return found


def run_both(
    setting: Setting,
    name: str,
    options: dict[str, Any],
    kind: type[Priced] = Priced,
    asked: type[Both] = Both,
) -> Both:
    """Simulate a way of serving, asking both."""
    made: list[Both] = []

    def both_set_up(demand: Any, policy: Any) -> PolicySetup:
        found = set_up(demand, policy)
        predictor = Serial(demand.services, demand.profiles)
        own = {**policy.dispatcher_options, **options}
        both = asked(kind, Context(demand.services, demand.devices, predictor), own)
        made.append(both)
        return found._replace(dispatcher=both)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "set_up", both_set_up)
        simulate(setting, way(name))
    return made[0]


def can_serve(name: str, setting: Setting) -> bool:
    """Some ways have no place for some services."""
    try:
        set_up(setting.demand, way(name))
    except ValueError:
        return False
    return True


@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(WAYS),
    options=OPTIONS,
    promised=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_they_choose_the_same_in_small_scenarios(
    seed: int, name: str, options: dict[str, Any], promised: bool
) -> None:
    setting = random_scenario(seed).setting()
    assume(can_serve(name, setting))
    run_both(setting, name, options, Promised if promised else Priced)


@pytest.mark.parametrize("load", [0.7, 4.0])
@pytest.mark.parametrize("name", ["columns", "columns_filled", "static"])
@pytest.mark.parametrize("items", [(1,), (1, 2, 5)])
def test_they_choose_the_same_among_many(load: float, name: str, items: tuple[int, ...]) -> None:
    setting = many_services(12, 3, load, 400, items).setting()
    both = run_both(setting, name, {})
    assert both.starts > 30
    assert load < 1 or both.drops


@pytest.mark.parametrize("items", [(1,), (1, 2, 5)])
def test_they_give_up_the_same_for_larger_batches(items: tuple[int, ...]) -> None:
    assert run_both(many_services(4, 1, 1.5, 800, items).setting(), "columns", {}).skipped


def test_they_count_those_who_would_come_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other batches start where their time makes others late."""
    setting = many_services(6, 2, 1.2, 300, (1,)).setting()
    free = run_both(setting, "columns", {})

    look = Market.look

    def thousands_come(self: Market, *of: Any) -> bool:
        looked = look(self, *of)
        if looked:
            self.per_ns = [1e-6 * place for place in range(6)]
        return looked

    monkeypatch.setattr(Market, "look", thousands_come)
    assert run_both(setting, "columns", {"blocking": 1.0}).starts != free.starts


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 9),
            st.floats(0.0, 1e4),
            st.sampled_from([0.3, 1.0, 7e6]),
            st.sampled_from([0.1, 1.0, 3.0]),
        ),
        max_size=8,
    ),
    horizon_s=st.floats(1e-3, 2.0),
    capacity=st.floats(0.0, 1e9),
)
def test_they_find_the_same_price(
    rows: list[tuple[int, float, float, float]], horizon_s: float, capacity: float
) -> None:
    counts, rates_per_s, works, values = zip(*rows, strict=True) if rows else ((),) * 4
    queues = tuple(Queue() for _ in rows)
    for queue, count in zip(queues, counts, strict=True):
        for number in range(count):
            queue.add(Query(number, 0, number, 0, 1))
    setting = many_services(2, 1, 0.5, 10, (1,)).setting()
    dispatcher = set_up(setting.demand, way("columns")).dispatcher
    assert isinstance(dispatcher, Priced)
    asked = (queues, rates_per_s, works, values, horizon_s, capacity)
    assert dispatcher.market.solve is not price_of_waiting
    assert dispatcher.market.solve(*asked) == price_of_waiting(*asked)


def test_a_price_of_other_services_is_refused() -> None:
    setting = many_services(2, 1, 0.5, 10, (1,)).setting()
    dispatcher = set_up(setting.demand, way("columns")).dispatcher
    assert isinstance(dispatcher, Priced)
    with pytest.raises(ValueError, match="one of each service"):
        dispatcher.market.solve((Queue(), Queue()), [1.0], [1.0, 1.0], [1.0, 1.0], 1.0, 1.0)


def test_what_is_no_query_is_refused() -> None:
    """The core reads queries by the places of their fields."""
    names = ("arrival_ns", "deadline_ns", "items", "sequence")
    assert [Query._fields.index(name) for name in names] == [3, 4, 5, 6]
    setting = many_services(2, 1, 0.5, 10, (1,)).setting()
    demand = setting.demand
    found = set_up(demand, way("columns"))
    queues = tuple(Queue() for _ in demand.services)
    queues[0].add((1, 2))  # type: ignore[arg-type]
    running = [None] * len(found.deployment.partitions)
    state = State(0, queues, running, found.deployment, {})
    with pytest.raises(ValueError, match="no query"):
        found.dispatcher.decide(state, Event(0, EventKind.ALARM))
