"""Nodes that are answered for at once, on a clock of their own: no process, no sleep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from surplus.engine.deployment.machines import FoundNode
from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options
from surplus.engine.deployment.server_process import Addresses


@dataclass
class FakeAgent:
    """Serves what it is told at once, unless it is ``dead`` or ``silent``."""

    params: AgentParams
    serves: dict[str, tuple[int, ...]] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    options: Options = ()
    told: list[ModelVersions | None] = field(default_factory=list)
    is_dead: bool = False
    is_silent: bool = False
    is_closed: bool = False
    is_killed: bool = False
    _unanswered: list[Future[NodeReport]] = field(default_factory=list)

    def look(self, wanted: ModelVersions | None, options: Options | None) -> Future[NodeReport]:
        self.told.append(wanted)
        if options is not None and not self.is_silent:
            self.options = options
        done: Future[NodeReport] = Future()
        if self.is_dead:
            done.set_exception(RuntimeError("the node is gone"))
        elif self.is_silent:
            self._unanswered.append(done)
        else:
            if wanted is not None:
                self.serves = dict(wanted)
            done.set_result(self._report())
        return done

    def speak(self) -> None:
        """Answer what was asked while it was silent, and from now on."""
        self.is_silent = False
        while self._unanswered:
            self._unanswered.pop().set_result(self._report())

    def _report(self) -> NodeReport:
        name = self.params.node
        return NodeReport(
            Addresses(f"{name}:1", f"{name}:2", f"{name}:3"),
            staged=self.serves,
            ready=self.serves,
            queries=dict(self.queries),
            starts=1,
            options=self.options,
        )

    def close(self) -> Future[None]:
        self.is_closed = True
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def kill(self) -> None:
        self.is_killed = True


class FakeMachines:
    """A ``Machines`` whose nodes a test adds and removes."""

    def __init__(self, *names: str) -> None:
        self.there = {name: FoundNode(name, name, {"node": 1}) for name in names}
        self.agents: dict[str, FakeAgent] = {}
        self.adopted: dict[str, str] = {}
        self.asked_for: Sequence[Mapping[str, float]] = ()

    def nodes(self) -> Sequence[FoundNode]:
        return tuple(self.there.values())

    def agent(self, params: AgentParams) -> FakeAgent:
        known = self.agents.get(params.node)
        if known is None or known.is_closed or known.is_killed:
            known = self.agents[params.node] = FakeAgent(params)
        return known

    def claim(self, deployment: str) -> None:
        pass

    def release(self) -> None:
        pass

    def with_agents(self, deployment: str) -> Mapping[str, str]:
        return self.adopted

    def probe(self, params: AgentParams) -> Future[str]:
        done: Future[str] = Future()
        done.set_result("")
        return done

    def ask_for(self, bundles: Sequence[Mapping[str, float]]) -> None:
        self.asked_for = bundles

    def close(self) -> None:
        pass
