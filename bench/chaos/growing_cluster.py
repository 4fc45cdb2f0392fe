"""A Ray cluster whose autoscaler starts and ends nodes, all of them on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import ray

from bench.chaos.ray_cluster import STORE_BYTES
from bench.infrastructure.ports import free_port
from surplus.engine.deployment.ray_machines import NAMESPACE

_HEAD = "ray.head.default"


class GrowingCluster:
    """A head where nothing is deployed, and no other node until one is asked for.

    Ray's own autoscaler decides; what starts nodes is Ray's provider for tests, for which a node is
    a process of this machine. Nothing else of Ray that runs here is touched.

    Parameters
    ----------
    most : int
        Nodes that it may start, each with a CPU and a resource ``node``.
    idle_s : float
        After which a node is ended that nobody uses or asks for.
    """

    def __init__(self, most: int, idle_s: float) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short, for the names of sockets
        address = f"127.0.0.1:{free_port()}"
        config = self._folder / "autoscaler.yaml"
        config.write_text(json.dumps(_config(address, most, idle_s)))
        words = [
            "--head",
            f"--port={address.rpartition(':')[2]}",
            "--node-ip-address=127.0.0.1",
            "--num-cpus=0",
            f"--object-store-memory={STORE_BYTES}",
            "--include-dashboard=false",
            "--disable-usage-stats",
            f"--temp-dir={self._folder}",
            f"--autoscaling-config={config}",
        ]
        own = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
        command = [str(Path(sys.executable).with_name("ray")), "start", *words]
        subprocess.run(command, env={**os.environ, **own}, check=True, capture_output=True)
        ray.init(address, namespace=NAMESPACE, log_to_driver=False)

    @property
    def nodes(self) -> set[str]:
        """Ids of those that are there, without the head."""
        alive = (row for row in ray.nodes() if row["Alive"])
        return {row["NodeID"] for row in alive if "node" in row["Resources"]}

    def close(self) -> None:
        """End everything."""
        ray.shutdown()
        for process in _below(self._folder):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def _below(folder: Path) -> set[psutil.Process]:
    """Processes that were told of a folder, and those that they started."""
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if any(str(folder) in word for word in process.cmdline()):
                found |= {process, *process.children(recursive=True)}
    return found


def _config(address: str, most: int, idle_s: float) -> dict[str, Any]:
    """What Ray's autoscaler reads; its schema wants the empty ones, too."""
    resources = {"CPU": 1, "node": 1, "object_store_memory": STORE_BYTES}
    worker = {"resources": resources, "node_config": {}, "min_workers": 0, "max_workers": most}
    head = {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0}
    provider = {
        "type": "fake_multinode",
        "gcs_address": address,
        "use_node_id_as_ip": True,  # they all have the same
        "disable_node_updaters": True,  # there is nothing to install on them
    }
    lists = ("initialization", "setup", "head_setup", "worker_setup")
    starts = ("head_start_ray_commands", "worker_start_ray_commands")
    return {
        "cluster_name": "grown",
        "max_workers": most,
        "idle_timeout_minutes": idle_s / 60,
        "upscaling_speed": most,
        "provider": provider,
        "available_node_types": {"worker": worker, _HEAD: head},
        "head_node_type": _HEAD,
        "auth": {},
        "docker": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        **{f"{name}_commands": [] for name in lists},
        **{name: [] for name in starts},
    }
