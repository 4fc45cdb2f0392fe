"""Where agents run: the nodes that there are, and an agent on each that is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options


@dataclass(frozen=True)
class FoundNode:
    """A node that is there.

    Parameters
    ----------
    id : str
    address : str
        That others reach it by.
    resources : mapping of str to float
        That it has in all, as Ray counts them.
    """

    id: str
    address: str
    resources: Mapping[str, float] = field(default_factory=dict)


class RemoteAgent(Protocol):
    """An agent elsewhere: ``surplus.engine.deployment.node_agent.NodeAgent``."""

    def look(self, wanted: ModelVersions | None, options: Options | None) -> Future[NodeReport]:
        """As the agent's. The future fails if it is gone."""
        ...

    def close(self) -> Future[None]:
        """As the agent's; then it is gone."""
        ...

    def kill(self) -> None:
        """Have it gone, though it does not answer; does not wait."""
        ...


class Machines(Protocol):
    """The nodes of a cluster."""

    def nodes(self) -> Sequence[FoundNode]:
        """Those that are there now, or were when that could be found out last."""
        ...

    def agent(self, params: AgentParams) -> RemoteAgent:
        """The agent on a node, which is started if it is not there; does not wait for it."""
        ...

    def claim(self, deployment: str) -> None:
        """Be the one that runs a deployment, until ``release`` or the end of this process.

        Raises
        ------
        ConfigError
            If another one does.
        """
        ...

    def release(self) -> None:
        """Let others run what was claimed."""
        ...

    def with_agents(self, deployment: str) -> Mapping[str, str]:
        """Nodes that have one of this deployment already, and what its ``AgentParams.mark`` was."""
        ...

    def probe(self, params: AgentParams) -> Future[str]:
        """What keeps a node from serving; empty if nothing does."""
        ...

    def close(self) -> None:
        """Leave the cluster; agents that are there stay."""
        ...

    def ask_for(self, bundles: Sequence[Mapping[str, float]]) -> None:
        """Have at least so much of the cluster there: what is beyond it may be given back."""
        ...
