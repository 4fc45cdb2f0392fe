"""A controller over nodes that are faked, on a clock that a test turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from surplus.engine.deployment.cluster_file import read_cluster_file
from surplus.engine.deployment.controller import ClusterController
from surplus.engine.deployment.directory import Directory
from tests.deployment.fake_machines import FakeAgent, FakeMachines
from tests.deployment.settings import cluster_file, model_table

S = 1_000_000_000


class Stage:
    """A controller and what is around it."""

    def __init__(self, folder: Path, machines: FakeMachines, *models: str, extra: str = "") -> None:
        path = cluster_file(folder, *models)
        path.write_text(path.read_text().replace("[kinds.cpu]", f"[kinds.cpu]\n{extra}"))
        self.now_ns = S
        self.folder = folder
        self.machines = machines
        self.directory = Directory()
        file = read_cluster_file(path)
        versions = dict.fromkeys(file.models, (1,))
        self.controller = ClusterController(
            file, machines, versions, self.directory, 0.0, lambda: self.now_ns
        )

    def steps(self, count: int, asked: dict[str, int] | None = None) -> None:
        """Looks, two a second; between them models are asked so often, replicas in turn."""
        for _ in range(count):
            self.now_ns += S // 2
            for name, queries in (asked or {}).items():
                replicas = self.hosts(name)
                for node in replicas:
                    agent = self.machines.agents[node]
                    agent.queries[name] = agent.queries.get(name, 0) + queries // len(replicas)
            self.controller.step()

    def hosts(self, name: str) -> list[str]:
        return [one.grpc.split(":")[0] for one in self.directory.models()[name]]


NET = model_table("net", rate=4, item_ms=40)


def test_rates_are_followed_and_spare_nodes_given_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b", "c"), NET)
    stage.steps(4)
    assert len(stage.hosts("net")) == 1
    assert len(stage.machines.agents) == 1
    stage.steps(12, asked={"net": 20})  # 40 a second
    assert len(stage.hosts("net")) == 3
    stage.steps(80, asked={"net": 1})
    assert len(stage.hosts("net")) == 1
    closed = [agent for agent in stage.machines.agents.values() if agent.is_closed]
    assert len(closed) == 2


def test_what_is_unloaded_has_served_until_the_rest_was_told_of(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b", "c"), NET)
    stage.steps(12, asked={"net": 20})
    for _ in range(200):
        listed = set(stage.hosts("net"))
        stage.steps(1, asked={"net": 1})
        for node in listed - set(stage.hosts("net")):  # clients may still know it
            assert "net" in stage.machines.agents[node].serves
    assert len(stage.hosts("net")) == 1


def test_a_node_that_dies_is_not_told_of_and_replaced(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b"), NET)
    stage.steps(4)
    (first,) = stage.hosts("net")
    dead = stage.machines.agents[first]
    dead.is_dead = True
    stage.steps(1)
    assert stage.hosts("net") == []  # what it said last counts no more
    stage.steps(40)
    assert dead.is_killed
    (second,) = stage.hosts("net")
    assert second != first


def test_a_node_that_ray_misses_is_replaced_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b"), NET)
    stage.steps(4)
    (first,) = stage.hosts("net")
    del stage.machines.there[first]
    stage.machines.agents[first].is_dead = True
    stage.steps(4)
    (second,) = stage.hosts("net")
    assert second != first


def test_a_node_that_is_late_is_believed_for_a_while(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a"), NET)
    stage.steps(4)
    stage.machines.agents["a"].is_silent = True
    stage.steps(2)
    assert stage.hosts("net") == ["a"]
    stage.steps(6)
    assert stage.hosts("net") == []


def test_agents_that_are_there_go_on_as_they_are(tmp_path: Path) -> None:
    """Also while they are not heard of yet, and where the plan has them no more."""
    machines = FakeMachines("a", "b", "c")
    stage = Stage(tmp_path, machines, NET)
    for node in "bc":
        params = stage.controller.params(node)
        machines.agents[node] = FakeAgent(params, {"net": (1,)}, is_silent=True)
        machines.adopted[node] = params.mark
    stage = Stage(tmp_path, machines, NET)
    stage.steps(1)
    for node in "bc":
        assert machines.agents[node].told == [None]
        machines.agents[node].speak()
    for _ in range(20):
        stage.steps(1)
        assert stage.hosts("net")
    assert stage.hosts("net") == ["a"]
    assert all(machines.agents[node].is_closed for node in "bc")


def test_agents_of_other_resources_are_refused(tmp_path: Path) -> None:
    machines = FakeMachines("a")
    machines.adopted["a"] = "another"
    with pytest.raises(ValueError, match="node a serves with another repository"):
        Stage(tmp_path, machines, NET)


def test_nodes_to_come_are_asked_for_and_used_when_they_come(tmp_path: Path) -> None:
    machines = FakeMachines("a")
    stage = Stage(tmp_path, machines, NET, extra="most = 3")
    stage.steps(4)
    assert machines.asked_for == [{"node": 1}]
    stage.steps(12, asked={"net": 20})
    assert machines.asked_for == [{"node": 1}] * 3
    assert stage.hosts("net") == ["a"]
    machines.there |= FakeMachines("b", "c").there
    stage.steps(8, asked={"net": 20})
    assert sorted(stage.hosts("net")) == ["a", "b", "c"]
    stage.steps(80, asked={"net": 1})
    assert machines.asked_for == [{"node": 1}]


def test_other_versions_leave_the_plan_as_it_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b", "c"), NET)
    stage.steps(12, asked={"net": 20})
    table = NET.replace("[1]", "[2]")
    file = read_cluster_file(cluster_file(tmp_path, table))
    stage.controller.update(file, {"net": (2,)})
    for _ in range(8):
        stage.steps(1, asked={"net": 20})
        assert len(stage.hosts("net")) == 3
    assert all(agent.serves == {"net": (2,)} for agent in stage.machines.agents.values())


def test_other_options_of_servers_go_from_node_to_node(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b", "c"), NET)
    stage.steps(12, asked={"net": 20})
    path = cluster_file(tmp_path, NET)
    path.write_text(path.read_text().replace("cpu:1", "cpu:2"))
    stage.controller.update(read_cluster_file(path), {"net": (1,)})
    new = ("--devices", "cpu:2", "--shared-memory")
    counts = []
    for _ in range(6):
        stage.steps(1, asked={"net": 20})
        agents = stage.machines.agents.values()
        counts.append(sum(agent.options == new for agent in agents))
        assert len(stage.hosts("net")) == 3
    assert counts == [0, 1, 2, 3, 3, 3]
    assert stage.controller.is_settled()


def test_models_come_and_go_and_others_keep_their_rates(tmp_path: Path) -> None:
    stage = Stage(tmp_path, FakeMachines("a", "b", "c"), NET)
    stage.steps(12, asked={"net": 20})
    file = read_cluster_file(cluster_file(tmp_path, NET, model_table("other", 1, 1)))
    stage.controller.update(file, {"net": (1,), "other": (3,)})
    stage.steps(4, asked={"net": 20})
    assert len(stage.hosts("net")) == 3
    assert stage.hosts("other")
    file = read_cluster_file(cluster_file(tmp_path, model_table("other", 1, 1)))
    stage.controller.update(file, {"other": (3,)})
    stage.steps(12)
    assert "net" not in stage.directory.models()
    left = [agent.serves for agent in stage.machines.agents.values() if not agent.is_closed]
    assert left == [{"other": (3,)}]
