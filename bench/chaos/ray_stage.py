"""A deployment on a Ray cluster of three nodes, which are all this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

import surplus
from bench.chaos.local_stage import LOOK_S
from bench.chaos.ray_cluster import SmallCluster
from bench.chaos.setting import Setting
from bench.chaos.stage import SETTLE_S, ChaosStage, NodeRow


class _RayNode:
    """One of the cluster's."""

    def __init__(self, cluster: SmallCluster, id: str) -> None:
        self._cluster = cluster
        self._id = id

    def cut_off(self, *, there: bool = True, back: bool = True) -> None:
        """Is not done: all nodes share this machine's network."""
        raise ValueError("nodes on Ray have no networks of their own")

    def lose(self, server_pid: int) -> None:
        """With all that is on it."""
        self._cluster.kill(self._id)

    def restore(self) -> None:
        """Another one comes in its place."""
        self._cluster.add()


@contextmanager
def staged_on_ray(folder: Path, rate_per_s: float, seed: int) -> Iterator[ChaosStage]:
    """Deploy, until the end of the block.

    Parameters
    ----------
    folder : Path
        For all files.
    """
    setting = Setting(folder, rate_per_s)
    cluster = SmallCluster(3)
    try:
        with surplus.deploy(setting.path, look_s=LOOK_S) as deployed:
            deployed.wait_until_served(2 * SETTLE_S)
            yield ChaosStage(setting, deployed, lambda id: _RayNode(cluster, id), _server_pid, seed)
    finally:
        cluster.close()


def _server_pid(row: NodeRow) -> int:
    """Of who listens there; 0 if nobody does."""
    port = int(row["grpc"].rpartition(":")[2])
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
            return connection.pid or 0
    return 0
