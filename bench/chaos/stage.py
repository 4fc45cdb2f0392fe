"""A deployment that things can be done to, wherever it runs."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bench.chaos.setting import Setting
from surplus.engine.deployment.cluster_deployment import ClusterDeployment

SETTLE_S = 60.0

NodeRow = Mapping[str, Any]


class ChaosNode(Protocol):
    """A node that can be lost."""

    def cut_off(self, *, there: bool = True, back: bool = True) -> None:
        """Clients and it do not hear each other, one way or both."""
        ...

    def lose(self, server_pid: int) -> None:
        """It is gone, with its server."""
        ...

    def restore(self) -> None:
        """It, or another one in its place, is there as before."""
        ...


class ChaosStage:
    """Three nodes, each with a server of its own.

    Parameters
    ----------
    setting : Setting
    deployed : ClusterDeployment
    node : callable
        By its id.
    server_pid : callable
        Of the server on a node, as the status has it; 0 if there is none just now.
    seed : int
        Draws who is hit.
    """

    def __init__(
        self,
        setting: Setting,
        deployed: ClusterDeployment,
        node: Callable[[str], ChaosNode],
        server_pid: Callable[[NodeRow], int],
        seed: int,
    ) -> None:
        self.setting = setting
        self.deployed = deployed
        self.pid = server_pid
        self._node = node
        self._chance = random.Random(seed)

    def in_use(self) -> list[NodeRow]:
        """Nodes whose servers serve, as the deployment's status has them."""
        return [row for row in self.deployed.status()["nodes"] if row["http"] and row["models"]]

    def choose(self, model: str = "") -> NodeRow:
        """One of them, that serves a model if one is named; waits until there is one."""
        return self._chance.choice(
            self.wait_for(
                lambda: [row for row in self.in_use() if not model or model in row["models"]],
                f"a node that serves {model or 'anything'}",
            )
        )

    def node(self, row: NodeRow) -> ChaosNode:
        """Of a row."""
        return self._node(row["node"])

    def is_planned(self, row: NodeRow) -> bool:
        """Whether a node still has the agent that it had; a new one has a new server, elsewhere."""
        nodes = [one for one in self.deployed.status()["nodes"] if one["node"] == row["node"]]
        return any(
            one["http"] in ("", row["http"]) or one["starts"] > row["starts"] for one in nodes
        )

    def signal(self, row: NodeRow, number: signal.Signals) -> None:
        """Send a node's server a signal."""
        if pid := self.pid(row):
            os.kill(pid, number)

    def aims_at_version(self) -> bool:
        """Whether the deployment has noticed which version is wanted."""
        wanted = [self.setting.version]
        return all(row["versions"] == wanted for row in self.deployed.status()["models"].values())

    def settle(self) -> None:
        """Wait until all that is planned serves."""
        self.deployed.wait_until_served(SETTLE_S)

    def wait_for(self, look: Callable[[], Any], what: str) -> Any:
        """The first look that finds something.

        Raises
        ------
        TimeoutError
            If none does.
        """
        end_s = time.monotonic() + SETTLE_S
        while not (found := look()):
            if time.monotonic() > end_s:
                text = f"waited {SETTLE_S:g} s for {what}: {self.deployed.status()}"
                raise TimeoutError(text)
            time.sleep(0.02)
        return found
