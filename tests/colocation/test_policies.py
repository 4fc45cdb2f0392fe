"""Every registered policy, on random small loads: valid, complete, the same twice."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surplus.colocation import policy_names, policy_spec, simulate
from surplus.colocation.frame.load import Load
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.service import Service
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Setting
from tests.colocation.settings import MS, load_of, service, setting_of

TIMES = st.lists(st.integers(0, 80), max_size=12)


def outcomes(setting: Setting, policy: str) -> list[str]:
    done = simulate(setting, policy_spec(policy))
    check_run(setting.load, setting.demand.services, done.deployment, done.record)
    return [Outcome(o).name for o in done.record.outcome]


def setting_for(
    services: list[Service], load: Load, devices: int, failures: frozenset[int]
) -> Setting:
    return setting_of(
        services,
        load,
        fixed_ms=[4, 7],
        per_item_ms=[1, 2],
        rates_per_s=[20, 10],
        devices=devices,
        noise="exponential",
        failures=failures,
    )


@pytest.mark.parametrize("policy", policy_names())
@given(
    arrivals=st.tuples(TIMES, TIMES),
    sizes=st.lists(st.integers(1, 5), min_size=24, max_size=24),
    devices=st.integers(1, 3),
    failures=st.frozensets(st.integers(0, 8)),
    max_queue=st.sampled_from([None, 2]),
)
@settings(max_examples=25, deadline=None)
def test_every_query_is_accounted_for(
    policy: str,
    arrivals: tuple[list[int], list[int]],
    sizes: list[int],
    devices: int,
    failures: frozenset[int],
    max_queue: int | None,
) -> None:
    services = [
        service("a", slo_ms=40, max_batch=4, max_queue=max_queue),
        service("b", slo_ms=60, max_batch=8),
    ]
    times = [sorted(row) for row in arrivals]
    load = load_of(services, times, [sizes[: len(times[0])], sizes[: len(times[1])]])
    setting = setting_for(services, load, devices, failures)
    found = outcomes(setting, policy)
    assert len(found) == len(load)
    assert "UNFINISHED" not in found
    assert found == outcomes(setting, policy)


@pytest.mark.parametrize("policy", policy_names())
def test_an_idle_device_serves_a_query_that_fits(policy: str) -> None:
    services = [service("a", slo_ms=100, max_batch=4)]
    setting = setting_of(services, load_of(services, [[0, 200, 400]]), [4], rates_per_s=[5])
    assert outcomes(setting, policy) == ["IN_TIME"] * 3


@given(tasks=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_edf_meets_all_deadlines_if_any_order_does(tasks: list[tuple[int, int]]) -> None:
    """All come at once, each of its own length and deadline (Jackson's rule)."""
    services = [service(f"s{k}", slo_ms=deadline) for k, (_, deadline) in enumerate(tasks)]
    took = [length for length, _ in tasks]
    setting = setting_of(services, load_of(services, [[0]] * len(tasks)), took)

    def meets(order: tuple[int, ...]) -> bool:
        ends = itertools.accumulate(took[k] for k in order)
        return all(end <= tasks[k][1] for k, end in zip(order, ends, strict=True))

    feasible = any(map(meets, itertools.permutations(range(len(tasks)))))
    # Events of one instant come one by one, so the first arrival runs before the second is seen:
    # a blocker as long as nothing keeps the device until all are there.
    assert (set(_after_all_came(setting)) == {"IN_TIME"}) == feasible


def _after_all_came(setting: Setting) -> list[str]:
    """As outcomes of EDF, on a load whose device is held until all queries came."""
    services = (Service("blocker", 1, 1), *setting.demand.services)
    slos_ms = [s.slo_ns / MS for s in setting.demand.services]
    load = load_of(services, [[0], *([[0]] * len(slos_ms))])
    took = [p.latency_ns(1, 0, 100) / MS for p in setting.demand.profiles]
    blocked = setting_of(services, load, [1 / MS, *took])
    object.__setattr__(load, "deadline_ns", load.deadline_ns + 1)
    return outcomes(blocked, "edf")[1:]


def test_sjf_takes_the_shortest_of_all_waiting() -> None:
    services = [service("a", slo_ms=500, max_batch=9)]
    load = load_of(services, [[0, 1, 2, 3]], [[3, 9, 5, 1]])
    setting = setting_of(services, load, [1], [1])
    done = simulate(setting, policy_spec("sjf"))
    assert list(done.record.piece_query) == [0, 3, 2, 1]


def test_temporal_batches_what_meets_the_first_deadline() -> None:
    services = [service("a", slo_ms=20, max_batch=8), service("b", slo_ms=20, max_batch=8)]
    load = load_of(services, [[0, *([1] * 6)], [1]])
    setting = setting_of(services, load, [4, 4], [2, 2])
    record = simulate(setting, policy_spec("temporal_drop")).record
    # a alone until 6; b's turn until 12; then 4 + 2 n <= 21 - 12 leaves two of a.
    assert list(record.piece_service) == [0, 1, 0]
    assert list(record.piece_items) == [1, 1, 2]


def test_a_fixed_batch_waits_until_it_is_full_or_due() -> None:
    services = [service("a", slo_ms=50, max_batch=2)]
    load = load_of(services, [[0, 3, 10]])
    record = simulate(setting_of(services, load, [4]), policy_spec("fixed_batch")).record
    assert list(record.group_start_ns) == [3 * MS, 56 * MS]
    assert list(record.piece_items) == [2, 1]


def test_clockwork_refuses_at_arrival_what_would_be_late() -> None:
    services = [service("a", slo_ms=6)]
    load = load_of(services, [[0, 1, 3]])
    done = simulate(setting_of(services, load, [4]), policy_spec("clockwork"))
    assert [Outcome(o).name for o in done.record.outcome] == ["IN_TIME", "DROPPED", "IN_TIME"]
    assert done.record.ended_ns[1] == 1 * MS
    assert done.record.predicted_end_ns[1] == 8 * MS


def test_clockwork_prefers_what_must_start_first() -> None:
    services = [service("a", slo_ms=30), service("b", slo_ms=25)]
    load = load_of(services, [[0, 1], [1]])
    record = simulate(setting_of(services, load, [9, 1]), policy_spec("clockwork")).record
    # a must start by 31 - 9 = 22, b by 26 - 1 = 25.
    assert list(record.piece_service) == [0, 0, 1]


def test_clockwork_takes_the_largest_of_batches_that_cost_the_same() -> None:
    services = [service("a", slo_ms=30, max_batch=8)]
    load = load_of(services, [[0, 1, 1, 1, 1, 1]])
    record = simulate(setting_of(services, load, [5]), policy_spec("clockwork")).record
    assert list(record.piece_items) == [1, 4, 1]


def test_policies_see_the_same_arrivals_and_items() -> None:
    services = [service("a", slo_ms=40, max_batch=4)]
    load = load_of(services, [list(np.arange(20))], [[1, 2] * 10])
    before = load.arrival_ns.copy()
    for policy in policy_names():
        outcomes(setting_of(services, load, [1]), policy)
    assert (load.arrival_ns == before).all()


@pytest.mark.parametrize("policy", ["fcfs", "sjf", "edf", "edf_drop"])
def test_a_higher_priority_goes_first(policy: str) -> None:
    """One runs, three wait: the last one to come is more urgent than its deadline says."""
    services = [service("a", 500), service("b", 400)]
    load = load_of(services, [[0, 1, 3], [2]])
    setting = setting_of(services, load, fixed_ms=[9, 9], per_item_ms=[0, 0], rates_per_s=[1, 1])

    class Urgent(Load):
        def queries(self) -> Iterator[Query]:
            for query in super().queries():
                yield query._replace(priority=int(query.id == 3))

    urgent = Urgent(**vars(load))
    run = simulate(replace(setting, load=urgent), policy_spec(policy))
    assert list(run.record.piece_query)[:2] == [0, 3]
    assert sorted(run.record.piece_query) == [0, 1, 2, 3]
