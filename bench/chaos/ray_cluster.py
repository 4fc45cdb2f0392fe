"""Three Ray nodes on this machine, of which one can be killed as a machine that loses its power."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import psutil
import ray
from ray.cluster_utils import Cluster

from surplus.engine.deployment.ray_machines import NAMESPACE

STORE_BYTES = 100 << 20


class SmallCluster:
    """The head has no resource ``node``, so that nothing is deployed there."""

    def __init__(self, nodes: int) -> None:
        # Without a head Ray would end this very process after a minute, and a test with it.
        patience = {"gcs_rpc_server_reconnect_timeout_s": 600}
        head: dict[str, Any] = {
            "num_cpus": 0,
            "object_store_memory": STORE_BYTES,
            "include_dashboard": False,
        }
        head["_system_config"] = patience
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: dict[str, Any] = {}
        self._is_closed = False
        ray.init(self._cluster.address, namespace=NAMESPACE, log_to_driver=False)
        for _ in range(nodes):
            self.add()

    def add(self) -> str:
        """Another node; its id."""
        made = self._cluster.add_node(
            num_cpus=1, object_store_memory=STORE_BYTES, resources={"node": 1}
        )
        self._nodes[str(made.node_id)] = made
        return str(made.node_id)

    @property
    def nodes(self) -> list[str]:
        """Ids of those that are there."""
        return list(self._nodes)

    def kill(self, node: str) -> None:
        """Its raylet, its workers and their servers, all at once."""
        raylet = self._raylet(node)
        del self._nodes[node]
        victims = [raylet, *raylet.children(recursive=True)]
        for process in victims:
            process.suspend()
        for process in victims:
            process.kill()

    def kill_workers(self, node: str) -> None:
        """Our agents' processes there; their servers are not touched."""
        for process in self._raylet(node).children():
            if "ray::NodeAgent" in " ".join(process.cmdline()):
                process.kill()

    def kill_head(self) -> None:
        """The process that knows the cluster; for good."""
        (info,) = self._cluster.head_node.all_processes["gcs_server"]
        os.kill(info.process.pid, 9)

    def close(self) -> None:
        """End everything; once."""
        if self._is_closed:
            return
        self._is_closed = True
        heads = self._cluster.head_node.all_processes["raylet"]
        raylets = [psutil.Process(info.process.pid) for info in heads]
        raylets += [self._raylet(node) for node in self._nodes]
        left = [one for raylet in raylets for one in (raylet, *raylet.children(recursive=True))]
        ray.shutdown()
        self._cluster.shutdown()
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _raylet(self, node: str) -> psutil.Process:
        (info,) = self._nodes[node].all_processes["raylet"]
        return psutil.Process(info.process.pid)
