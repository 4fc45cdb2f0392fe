"""A deployment whose three nodes are all this machine, without Ray."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import surplus
from bench.chaos.lossy_node import LossyNode
from bench.chaos.own_network import OwnNetwork
from bench.chaos.setting import RESOURCES, Setting
from bench.chaos.stage import SETTLE_S, ChaosStage
from surplus.engine.deployment.local_machines import LocalMachines

LOOK_S = 0.2


@contextmanager
def staged_here(
    folder: Path, rate_per_s: float, seed: int, *, networks: bool
) -> Iterator[ChaosStage]:
    """Deploy, until the end of the block.

    Parameters
    ----------
    folder : Path
        For all files.
    networks : bool
        Whether each node has one of its own.
    """
    setting = Setting(folder, rate_per_s)
    with ExitStack() as stack:
        nodes = {}
        for number in range(3):
            network = stack.enter_context(OwnNetwork(number)) if networks else None
            node = LossyNode(f"local-{number}", RESOURCES, network)
            nodes[node.name] = node
        machines = LocalMachines(
            [node.found for node in nodes.values()], lambda params: nodes[params.node].begin(params)
        )
        deployed = stack.enter_context(surplus.deploy(setting.path, machines, look_s=LOOK_S))
        for node in nodes.values():
            stack.callback(node.restore)
        deployed.wait_until_served(SETTLE_S)
        yield ChaosStage(
            setting,
            deployed,
            nodes.__getitem__,
            lambda row: machines.server_pid(row["node"]),
            seed,
        )
