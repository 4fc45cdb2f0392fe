"""A deployment on a Ray cluster that has no nodes until it asks the autoscaler for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.deployment.client import SteadyLoad, resolve
from tests.deployment.settings import cluster_file, model_table, save_version
from tests.deployment.waiting import wait_for

if TYPE_CHECKING:
    from bench.chaos.growing_cluster import GrowingCluster

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # of Ray's own


@pytest.fixture
def cluster() -> Iterator[GrowingCluster]:
    pytest.importorskip("ray")
    from bench.chaos.growing_cluster import GrowingCluster

    made = GrowingCluster(most=3, idle_s=3.0)
    yield made
    made.close()


def test_nodes_are_asked_for_and_given_back_under_load(
    cluster: GrowingCluster, tmp_path: Path
) -> None:
    import surplus

    save_version(tmp_path / "repository", "net", 1)
    path = cluster_file(tmp_path, model_table("net", rate=4, item_ms=40), name="grown")
    path.write_text(path.read_text().replace("load_s", "most = 3\nload_s"))
    assert cluster.nodes == set()
    with surplus.deploy(path, look_s=0.2) as deployed:
        deployed.wait_until_served(120)
        assert len(cluster.nodes) == 1
        with SteadyLoad(deployed.resolver, "net", 4) as load:
            load.rate_per_s = 40
            wait_for(lambda: len(resolve(deployed.resolver, "net")) == 3, "three replicas")
            assert len(cluster.nodes) == 3
            load.rate_per_s = 4
            wait_for(lambda: len(cluster.nodes) == 1, "two nodes that were ended")
            asked = load.asked
            wait_for(lambda: load.asked > asked + 12, "queries of the node that is left")
        load.check([1.0])
    wait_for(lambda: not cluster.nodes, "the last node ended")
