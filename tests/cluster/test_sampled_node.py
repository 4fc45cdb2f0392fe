"""The bounds on lateness hold against the simulator of queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from surplus.cluster import CLUSTER_PLANNERS
from surplus.cluster.queueing.strip_rows import rows_of
from surplus.cluster.simulation.sampled_node import simulate_node
from tests.cluster.settings import mixed_demand


@pytest.mark.parametrize("name", CLUSTER_PLANNERS.names())
@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_no_fewer_queries_are_in_time_than_the_bounds_say(name: str, factor: float) -> None:
    """At the rates that were planned for, and above them."""
    wanted = mixed_demand(12, 500.0, 24)
    plan = CLUSTER_PLANNERS.make(name).plan(wanted)
    rates = factor * np.array(wanted.rates_per_s)
    bound = rows_of(plan, wanted.models, wanted.fleet).in_time(rates)
    generator = np.random.default_rng(6)
    for node in sorted(plan.nodes)[:3]:
        found = simulate_node(plan, node, wanted.models, wanted.fleet, rates, 8.0, generator)
        least = bound[list(found.models)]
        noise = 3 * np.sqrt(least * (1 - least) * found.queries) + 1
        assert np.all(found.in_time >= least * found.queries - noise)


def test_a_node_gets_its_part_of_a_models_queries() -> None:
    wanted = mixed_demand(6, 10000.0, 60)
    plan = CLUSTER_PLANNERS.make("surplus").plan(wanted)
    heavy = int(np.argmax(wanted.rates_per_s))
    nodes = {plan.strips[r.strip].node for r in plan.replicas if r.model == heavy}
    assert len(nodes) > 1
    rates, generator = np.array(wanted.rates_per_s), np.random.default_rng(6)
    total = 0.0
    for node in sorted(nodes):
        found = simulate_node(plan, node, wanted.models, wanted.fleet, rates, 2.0, generator)
        total += found.queries[found.models.index(heavy)]
    assert total == pytest.approx(2 * rates[heavy], rel=0.1)


def test_models_without_queries_are_left_out() -> None:
    wanted = mixed_demand(6, 300.0, 20)
    plan = CLUSTER_PLANNERS.make("surplus").plan(wanted)
    silent = replace(wanted, rates_per_s=(0.0, *wanted.rates_per_s[1:]))
    rates = np.array(silent.rates_per_s)
    for node in plan.nodes:
        args = (plan, node, wanted.models, wanted.fleet, rates, 1.0, np.random.default_rng(6))
        assert 0 not in simulate_node(*args).models
