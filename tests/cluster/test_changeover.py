"""While replicas load, the old ones serve on, as long as there is memory for them."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.cluster import ClusterPlan, Fleet, Replica, Strip
from surplus.cluster.simulation.changeover import Changeover
from tests.cluster.settings import GB, GPU, MS, S, model

FLEET = Fleet.of([(GPU, 3)])
LONG_AGO = -1e18


def plan(*rows: tuple[int, int]) -> ClusterPlan:
    """Models on nodes, each with a strip of a half."""
    strips = tuple(Strip(node, 0, 50, 20 * MS, True) for _, node in rows)
    memory = {0: 1, 1: 12}
    replicas = [Replica(m, k, 8, 10.0, memory[m] * GB) for k, (m, _) in enumerate(rows)]
    return ClusterPlan(strips, tuple(replicas))


def begun(first: ClusterPlan) -> Changeover:
    change = Changeover((model("a"), model("b", memory_gb=12)), FLEET)
    change.take(first, LONG_AGO, np.full(2, LONG_AGO))
    return change


def serving(change: Changeover, now_ns: float) -> list[int]:
    return sorted(change.serving(now_ns).model.tolist())


def test_a_moved_replica_serves_until_the_new_one_is_loaded() -> None:
    change = begun(plan((0, 0), (1, 1)))
    change.take(plan((0, 1), (1, 1)), 0, np.zeros(2))
    # 1 GiB at 1 GB/s, and a second for sessions
    assert change.ready_ns[0] == pytest.approx(1.0737 * S + S, rel=1e-3)
    assert serving(change, 0) == [0, 1]
    assert change.nodes == {0, 1}
    change.take(change.plan, 3 * S, np.zeros(2))
    assert serving(change, 3 * S) == [0, 1]
    assert change.nodes == {1}
    assert change.moves == 3


def test_a_node_that_is_asked_for_starts_first() -> None:
    change = begun(plan((0, 0)))
    change.take(plan((0, 2)), 0, np.zeros(2))
    assert change.ready_ns[0] > 60 * S
    assert serving(change, 30 * S) == [0]


def test_replicas_of_a_node_load_one_after_the_other() -> None:
    change = begun(plan((0, 0)))
    change.take(plan((0, 0), (0, 1), (1, 1)), 0, np.zeros(2))
    assert change.ready_ns[1] == pytest.approx(change.ready_ns[0] + 12 * 1.0737 * S + S, rel=1e-3)


def test_who_is_in_the_way_of_memory_goes_at_once() -> None:
    """12 GB leave a device onto which 12 others come, and only 16 fit."""
    models = (model("a", memory_gb=12), model("b", memory_gb=12))
    strips = tuple(Strip(node, 0, 50, 20 * MS, True) for node in range(2))
    first = ClusterPlan(strips, tuple(Replica(k, k, 8, 10.0, 12 * GB) for k in range(2)))
    swapped = ClusterPlan(strips, tuple(Replica(k, 1 - k, 8, 10.0, 12 * GB) for k in range(2)))
    change = Changeover(models, FLEET)
    change.take(first, LONG_AGO, np.full(2, LONG_AGO))
    assert serving(change, 0) == [0, 1]
    change.take(swapped, 0, np.zeros(2))
    assert serving(change, 0) == []
    assert serving(change, 20 * S) == [0, 1]


def test_a_plan_that_changes_again_keeps_who_serves() -> None:
    change = begun(plan((0, 0)))
    change.take(plan((0, 1)), 0, np.zeros(2))
    change.take(plan((0, 2)), 1 * S, np.full(2, 1.0 * S))
    assert serving(change, 1 * S) == [0]
    assert change.nodes == {0, 2}
