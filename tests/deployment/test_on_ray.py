"""Deployments on a real Ray cluster, small: three nodes on this machine, under load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from surplus.engine.errors import ConfigError
from tests.deployment.client import SteadyLoad, ask, resolve
from tests.deployment.settings import cluster_file, model_table, save_version
from tests.deployment.waiting import wait_for

if TYPE_CHECKING:
    from bench.chaos.ray_cluster import SmallCluster
    from surplus.engine.deployment.cluster_deployment import ClusterDeployment

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # of Ray's own


@pytest.fixture(scope="module")
def cluster() -> Iterator[SmallCluster]:
    pytest.importorskip("ray")
    from bench.chaos.ray_cluster import SmallCluster

    made = SmallCluster(3)
    yield made
    made.close()


def _nodes(deployed: ClusterDeployment) -> set[str]:
    return {row["node"] for row in deployed.status()["nodes"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_version(tmp_path / "repository", "net", 1)
    return tmp_path


def test_a_model_is_deployed_and_found(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    save_version(folder / "repository", "other", 3)
    path = cluster_file(folder, model_table("net"), model_table("other", more=""), name="found")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        (replica,) = resolve(deployed.resolver, "net")
        assert set(replica) == {"grpc", "http", "load"}
        assert ask(replica["http"], "net", 5.0) == 1.0
        (other,) = resolve(deployed.resolver, "other")
        assert ask(other["http"], "other", 5.0) == 3.0  # the newest, and nobody said which
        (node,) = deployed.status()["nodes"]
        assert node["node"] in cluster.nodes
        assert node["models"] == {"net": [1], "other": [3]}
        with pytest.raises(ConfigError, match="'found' is run by another controller"):
            surplus.deploy(path)


def test_one_to_three_nodes_and_back_under_load(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    path = cluster_file(folder, model_table("net", rate=4, item_ms=40), name="scaled")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        assert len(resolve(deployed.resolver, "net")) == 1
        with SteadyLoad(deployed.resolver, "net", 4) as load:
            load.rate_per_s = 40
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 3, "three replicas")
            load.rate_per_s = 4
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 1, "one replica")
            wait_for(lambda: len(deployed.status()["nodes"]) == 1, "two nodes given back")
        load.check([1.0])


def test_a_rolling_update_under_load(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    path = cluster_file(folder, model_table("net", rate=40, item_ms=40), name="rolled")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        save_version(folder / "repository", "net", 2)
        with SteadyLoad(deployed.resolver, "net", 40) as load:
            wait_for(lambda: load.added[1.0] > 20, "answers of version 1")
            more = "versions = [2]"
            cluster_file(folder, model_table("net", 40, 40, more), name="rolled")
            wait_for(lambda: deployed.status()["models"]["net"]["versions"] == [2], "the file")
            deployed.wait_until_served(90)
            seen = load.added[2.0]
            wait_for(lambda: load.added[2.0] > seen + 40, "answers of version 2")
        load.check([1.0, 2.0])
        assert len(resolve(deployed.resolver, "net")) == 3
        for replica in resolve(deployed.resolver, "net"):
            assert ask(replica["http"], "net", 5.0) == 2.0


def test_a_node_is_killed_under_load(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    path = cluster_file(folder, model_table("net", rate=12, item_ms=40), name="killed")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        before = _nodes(deployed)
        assert len(before) == 2
        with SteadyLoad(deployed.resolver, "net", 12) as load:
            wait_for(lambda: load.asked > 20, "load")
            victim = min(before)
            cluster.kill(victim)
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 1, "the loss noticed")
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 2, "a replacement")
        load.check([1.0])
        wait_for(lambda: victim not in _nodes(deployed), "the loss accepted")
        assert len(_nodes(deployed) - before) == 1
    cluster.add()


def test_an_agent_that_dies_is_started_again(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    path = cluster_file(folder, model_table("net", rate=12, item_ms=40), name="restarted")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        (victim, *_) = sorted(_nodes(deployed))
        with SteadyLoad(deployed.resolver, "net", 12) as load:
            wait_for(lambda: load.asked > 10, "load")
            cluster.kill_workers(victim)
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 1, "the loss noticed")
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 2, "its return")
        load.check([1.0])


def test_what_serves_outlives_the_controller(cluster: SmallCluster, folder: Path) -> None:
    import surplus
    from surplus.engine.deployment.ray_machines import RayMachines
    from surplus.engine.deployment.take_down import take_down

    path = cluster_file(folder, model_table("net", rate=1, item_ms=40), name="adopted")
    first = surplus.deploy(path, look_s=0.2)
    first.wait_until_served(90)
    (before,) = resolve(first.resolver, "net")
    first.abandon()
    assert ask(before["http"], "net", 5.0) == 1.0
    second = surplus.deploy(path, look_s=0.2)
    second.wait_until_served(90)
    (after,) = resolve(second.resolver, "net")
    assert after["grpc"] == before["grpc"]  # the very server
    second.abandon()
    machines = RayMachines()
    assert take_down("adopted", machines) == 1
    machines.close()
    with pytest.raises(OSError, match="refused"):
        ask(before["http"], "net", 5.0)


def test_servers_outlive_the_head(cluster: SmallCluster, folder: Path) -> None:
    import surplus

    path = cluster_file(folder, model_table("net", rate=12, item_ms=40), name="headless")
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(90)
        with SteadyLoad(deployed.resolver, "net", 12) as load:
            cluster.kill_head()
            asked = load.asked
            wait_for(lambda: load.asked > asked + 36, "queries without a head")
        load.check([1.0])
        deployed.abandon()
    cluster.close()
