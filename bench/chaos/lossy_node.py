"""A node of this machine that can lose its power, or its network, as others have."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress

from bench.chaos.own_network import OwnNetwork
from surplus.engine.deployment.machines import FoundNode
from surplus.engine.deployment.node_agent import AgentParams, NodeAgent
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options


class LossyNode:
    """Of a deployment without Ray.

    Parameters
    ----------
    name : str
    resources : mapping of str to float
    network : OwnNetwork, optional
        That its server is in; none: this machine's.
    """

    def __init__(
        self, name: str, resources: Mapping[str, float], network: OwnNetwork | None = None
    ) -> None:
        self.name = name
        self.network = network
        self.found = FoundNode(name, network.address if network else "127.0.0.1", resources)
        self._is_heard = threading.Event()
        self._is_heard.set()
        self._frozen: int = 0

    def begin(self, params: AgentParams) -> NodeAgent:
        """Its agent, in the calling thread; waits while the node is not heard."""
        if self.network is not None:
            self.network.enter()
        self._is_heard.wait()
        return _GatedAgent(params, self._is_heard)

    def cut_off(self, *, there: bool = True, back: bool = True) -> None:
        """Clients and it do not hear each other, one way or both; the controller still does."""
        if self.network is None:
            raise ValueError(f"{self.name} has no network of its own")
        self.network.cut(there=there, back=back)

    def lose(self, server_pid: int) -> None:
        """Nothing comes from it any more, not even that it is gone."""
        self._is_heard.clear()
        if self.network is not None:
            self.network.cut()
        if server_pid:
            self._frozen = server_pid
            with suppress(ProcessLookupError):
                os.kill(server_pid, signal.SIGSTOP)

    def restore(self) -> None:
        """All is as it was."""
        if self.network is not None:
            self.network.heal()
        if self._frozen:
            with suppress(ProcessLookupError):
                os.kill(self._frozen, signal.SIGCONT)
        self._frozen = 0
        self._is_heard.set()


class _GatedAgent(NodeAgent):
    """Hears and says nothing while its node is not heard."""

    def __init__(self, params: AgentParams, is_heard: threading.Event) -> None:
        self._is_heard = is_heard
        super().__init__(params)

    def look(
        self, wanted: ModelVersions | None = None, options: Options | None = None
    ) -> NodeReport:
        self._is_heard.wait()
        return super().look(wanted, options)

    def close(self) -> None:
        self._is_heard.wait()
        super().close()
