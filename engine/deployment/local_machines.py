"""Nodes that are all this machine: a deployment without Ray, to try one out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from surplus.engine.deployment.machines import FoundNode
from surplus.engine.deployment.node_agent import AgentParams, NodeAgent
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options
from surplus.engine.deployment.probe import probe


class LocalMachines:
    """A ``Machines`` of agents in this process.

    Parameters
    ----------
    nodes : sequence of FoundNode
    begin : callable
        Makes an agent, in its own thread.
    """

    def __init__(
        self, nodes: Sequence[FoundNode], begin: Callable[[AgentParams], NodeAgent] = NodeAgent
    ) -> None:
        self._nodes = tuple(nodes)
        self._begin = begin
        self._agents: dict[str, LocalAgent] = {}

    @classmethod
    def of(cls, count: int, resources: Mapping[str, float]) -> LocalMachines:
        """So many nodes."""
        return cls([FoundNode(f"local-{k}", "127.0.0.1", resources) for k in range(count)])

    def nodes(self) -> Sequence[FoundNode]:
        """Always the same."""
        return self._nodes

    def agent(self, params: AgentParams) -> LocalAgent:
        """In a thread of its own."""
        known = self._agents.get(params.node)
        if known is None or known.is_closed:
            ended = None if known is None else known.ended  # whose folder it shares
            known = self._agents[params.node] = LocalAgent(params, self._begin, ended)
        return known

    def claim(self, deployment: str) -> None:
        """Nobody else knows of these nodes."""

    def release(self) -> None:
        """There is nothing to let go."""

    def with_agents(self, deployment: str) -> Mapping[str, str]:
        """None that outlived its process."""
        return {}

    @property
    def has_agents(self) -> bool:
        """Whether there has been one."""
        return bool(self._agents)

    def server_pid(self, node: str) -> int:
        """Of the server on a node; 0 if there is none just now."""
        return self._agents[node].server_pid()

    def probe(self, params: AgentParams) -> Future[str]:
        """Here and now."""
        done: Future[str] = Future()
        done.set_result(probe(params))
        return done

    def ask_for(self, bundles: Sequence[Mapping[str, float]]) -> None:
        """There are no others."""

    def close(self) -> None:
        """Nothing is left of it."""


class LocalAgent:
    """A ``RemoteAgent`` of a thread.

    Parameters
    ----------
    begin : callable
        Makes the agent.
    before : Future, optional
        Done when the one before it has ended.

    Attributes
    ----------
    is_closed : bool
    ended : Future or None
        Done when it has ended; None as long as nobody has closed it.
    """

    def __init__(
        self,
        params: AgentParams,
        begin: Callable[[AgentParams], NodeAgent] = NodeAgent,
        before: Future[None] | None = None,
    ) -> None:
        def begun() -> NodeAgent:
            if before is not None:
                wait([before])
            return begin(params)

        self._thread = ThreadPoolExecutor(1, "surplus agent")
        self._agent = self._thread.submit(begun)
        self.is_closed = False
        self.ended: Future[None] | None = None

    def look(self, wanted: ModelVersions | None, options: Options | None) -> Future[NodeReport]:
        """As the agent's."""
        return self._thread.submit(lambda: self._agent.result().look(wanted, options))

    def close(self) -> Future[None]:
        """As the agent's; the thread ends with it."""
        self.is_closed = True
        self.ended = self._thread.submit(lambda: self._agent.result().close())
        self._thread.shutdown(wait=False)
        return self.ended

    def kill(self) -> None:
        """As ``close``: a thread cannot be ended otherwise."""
        if not self.is_closed:
            self.close()

    def server_pid(self) -> int:
        """Of its server; 0 if there is none just now."""
        return self._agent.result().server_pid
