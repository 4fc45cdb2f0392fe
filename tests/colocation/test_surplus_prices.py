"""Prices: the optimum is the least dual value, and bounds whatever a run gets."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import policy_spec, simulate
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome
from surplus.colocation.policies.surplus.prices import dual_value, price_of
from surplus.colocation.simulation.simulator import Setting
from tests.colocation.settings import load_of, service, setting_of

ROWS = st.lists(
    st.tuples(st.floats(0, 50), st.floats(0.1, 9), st.floats(0.1, 5)), min_size=1, max_size=6
)


@given(rows=ROWS, capacity=st.floats(0, 300))
def test_no_price_has_a_lower_dual_value(
    rows: list[tuple[float, float, float]], capacity: float
) -> None:
    counts, works, values = zip(*rows, strict=True)
    found = price_of(counts, works, values, capacity)
    prices = [0.0, *(value / work for _, work, value in rows)]
    duals = [dual_value(price, counts, works, values, capacity) for price in prices]
    assert found.most == pytest.approx(min(duals), abs=1e-6)
    own = dual_value(found.per_work, counts, works, values, capacity)
    assert own == pytest.approx(found.most, abs=1e-6)


def test_the_dearest_goes_first() -> None:
    found = price_of([10, 10], [1.0, 4.0], [1.0, 1.0], 30.0)
    assert found == (0.25, 15.0)
    assert price_of([10, 10], [1.0, 4.0], [1.0, 8.0], 30.0) == (2.0, 60.0)
    assert price_of([10, 10], [1.0, 4.0], [1.0, 1.0], 51.0).per_work == 0.0


def _works(setting: Setting) -> list[float]:
    """The least that a query holds in any batch on any share."""
    demand = setting.demand
    return [
        min(
            share * demand.latency_ns(index, items, share) / items
            for share, items in product(range(1, 101), range(1, own.max_batch + 1))
        )
        for index, own in enumerate(demand.services)
    ]


@given(
    arrivals=st.tuples(
        st.lists(st.integers(0, 60), max_size=20), st.lists(st.integers(0, 60), max_size=20)
    ),
    price=st.floats(0, 1e-7),
    policy=st.sampled_from(["priced", "surplus", "max_throughput_drop"]),
)
@settings(max_examples=40, deadline=None)
def test_a_dual_value_bounds_what_a_run_gets(
    arrivals: tuple[list[int], list[int]], price: float, policy: str
) -> None:
    services = [service("a", slo_ms=20, max_batch=4), service("b", slo_ms=30, max_batch=2)]
    load = load_of(services, [sorted(row) for row in arrivals])
    setting = setting_of(services, load, [4, 7], [1, 2], [20, 10], knee_percent=40)
    record = simulate(setting, policy_spec(policy)).record
    in_time = sum(outcome == Outcome.IN_TIME for outcome in record.outcome)
    counts = [float((load.service == index).sum()) for index in range(2)]
    dual = dual_value(price, counts, _works(setting), [1.0, 1.0], _capacity(load))
    assert in_time <= dual + 1e-6


def _capacity(load: Load) -> float:
    """Percent times ns from the first arrival to the last deadline."""
    if not len(load):
        return 0.0
    return 100.0 * float(load.deadline_ns.max() - load.arrival_ns.min())
