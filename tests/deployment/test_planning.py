"""The cluster's planner, over nodes that come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.cluster import ClusterNode, Fleet, check_plan
from surplus.colocation.frame.service import ServingDevice
from surplus.engine.deployment.cluster_file import ClusterFile, read_cluster_file
from surplus.engine.deployment.planning import Planning, moved_to
from tests.deployment.settings import cluster_file, model_table

MEMORY = 64 << 20


def node(name: str, memory_bytes: int = MEMORY) -> ClusterNode:
    return ClusterNode(name, 0, (ServingDevice("device0", memory_bytes),))


def read(folder: Path, *models: str) -> ClusterFile:
    return read_cluster_file(cluster_file(folder, *models))


def test_rates_say_how_many_nodes_serve(tmp_path: Path) -> None:
    planning = Planning(read(tmp_path, model_table("net", 1, 40)), [node(k) for k in "abc"])
    assert len(planning.placed()) == 1
    planning.step({"net": 45.0}, frozenset())
    assert planning.placed() == {k: {"net"} for k in "abc"}
    for _ in range(60):
        planning.step({"net": 1.0}, frozenset())
    assert len(planning.held()) == 1
    assert planning.shortfalls() == {}


def test_what_finds_no_place_is_said(tmp_path: Path) -> None:
    planning = Planning(read(tmp_path, model_table("net", 100, 40)), [node("a")])
    assert "queries/s" in planning.shortfalls()["net"]
    assert planning.placed() == {"a": {"net"}}


def test_what_has_no_place_in_time_serves_as_well_as_it_can(tmp_path: Path) -> None:
    tables = [model_table(f"m{k}", 20, 40) for k in range(4)]
    planning = Planning(read(tmp_path, *tables), [node("a"), node("b")])
    assert set().union(*planning.placed().values()) == {f"m{k}" for k in range(4)}
    assert planning.shortfalls()


def test_the_loss_of_a_node_leaves_nobody_without_a_replica(tmp_path: Path) -> None:
    tables = [model_table(f"m{k}", 10, 20) for k in range(4)]
    file = read(tmp_path, *tables)
    planning = Planning(file, [node(k) for k in "abcd"])
    before = planning.placed()
    assert len(before) > 1
    lost = min(before)
    left = [node(k) for k in "dcba" if k != lost]
    plan = planning.refleet(left)
    after = planning.placed()
    assert lost not in after
    for name, models in before.items():
        assert name == lost or models <= after[name]
    assert set().union(*after.values()) == {f"m{k}" for k in range(4)}
    for name, models in before.items():
        assert name == lost or models <= after[name]
    check_plan(plan, file.cluster_models, Fleet(file.node_kinds, tuple(left)))


def test_a_plan_on_other_nodes_keeps_its_strips(tmp_path: Path) -> None:
    file = read(tmp_path, model_table("net", 45, 40))
    nodes = [node(k) for k in "abc"]
    planning = Planning(file, nodes)
    before = Fleet(file.node_kinds, tuple(nodes))
    after = Fleet(file.node_kinds, tuple(nodes[::-1]))
    moved = moved_to(planning.plan, before, after)
    check_plan(moved, file.cluster_models, after)
    named = [before.nodes[strip.node].name for strip in planning.plan.strips]
    assert [after.nodes[strip.node].name for strip in moved.strips] == named
    assert moved_to(moved, after, before) == planning.plan


def test_who_is_not_asked_sleeps_and_is_woken(tmp_path: Path) -> None:
    more = "first_answer_s = 30"
    file = read(tmp_path, model_table("net", 1, 40, more), model_table("other", 1, 40))
    planning = Planning(file, [node("a"), node("b")])
    for _ in range(file.idle_windows + 1):
        planning.step({}, frozenset())
    assert set().union(*planning.placed().values()) == {"other"}
    planning.wake(frozenset({"net"}))
    assert set().union(*planning.placed().values()) == {"net", "other"}


def test_a_model_that_fits_no_node_there_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'a', device 'device0': 1024 bytes, kind 'cpu' says"):
        Planning(read(tmp_path, model_table("net")), [node("a", 1024)])
