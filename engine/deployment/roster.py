"""The agents of a deployment, and what they said last."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Set
from concurrent.futures import Future, wait
from dataclasses import dataclass

from surplus.engine.deployment.machines import RemoteAgent
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options
from surplus.engine.errors import one_line

_LOG = logging.getLogger(__name__)
_FRESH_NS = 3_000_000_000
"""What a node said longer ago is not believed any more: clients are not sent there."""
_LOST_NS = 15_000_000_000
"""A node that has said nothing for so long is given up."""
_START_NS = 60_000_000_000
"""Until when an agent has to answer for the first time."""
_SHUNNED_NS = 30_000_000_000
"""For how long a node that was given up is not tried again."""


@dataclass
class _Member:
    agent: RemoteAgent
    due_ns: int
    asked: Future[NodeReport] | None = None
    report: NodeReport | None = None
    heard_ns: int = 0
    error: str = ""


class Roster:
    """Who works for a deployment.

    Parameters
    ----------
    agent_on : callable
        The agent on a node, by the node's id, started if it is not there.
    """

    def __init__(self, agent_on: Callable[[str], RemoteAgent]) -> None:
        self._agent_on = agent_on
        self._members: dict[str, _Member] = {}
        self._shunned_ns: dict[str, int] = {}
        self._closing: dict[str, Future[None]] = {}

    @property
    def members(self) -> Set[str]:
        """Ids of nodes that have an agent."""
        return self._members.keys()

    def add(self, node: str, now_ns: int) -> None:
        """Have an agent there, when one that was there has ended."""
        before = self._closing.get(node)
        if node not in self._members and (before is None or before.done()):
            self._members[node] = _Member(self._agent_on(node), now_ns + _START_NS)

    def remove(self, node: str) -> None:
        """End the agent there, in its own time, with its server's queries answered."""
        if (member := self._members.pop(node, None)) is not None:
            self._closing[node] = member.agent.close()

    def shunned(self, now_ns: int) -> Set[str]:
        """Nodes that were given up not long ago."""
        return {node for node, end_ns in self._shunned_ns.items() if now_ns < end_ns}

    def look(
        self,
        wanted: Mapping[str, ModelVersions],
        options: Mapping[str, Options],
        timeout_s: float,
        now_ns: Callable[[], int],
    ) -> dict[str, NodeReport]:
        """Tell each what it is to serve, hear what it does.

        Parameters
        ----------
        wanted : mapping of str to ModelVersions
            By node; those that are left out go on as they are.
        options : mapping of str to tuple of str
            Of their servers, likewise.
        timeout_s : float
            For answers; later ones count at the next look.
        now_ns : callable
            Monotonic.

        Returns
        -------
        dict of str to NodeReport
            Of nodes that answered of late. Those that have not for long are members no more.
        """
        for node, member in self._members.items():
            if member.asked is None:
                member.asked = member.agent.look(wanted.get(node), options.get(node))
        wait([member.asked for member in self._members.values() if member.asked], timeout_s)
        now = now_ns()
        for member in self._members.values():
            _hear(member, now)
        for node in [node for node, one in self._members.items() if now > one.due_ns]:
            member = self._members.pop(node)
            _LOG.warning("node %s is given up: %s", node, member.error or "it does not answer")
            self._shunned_ns[node] = now + _SHUNNED_NS
            member.agent.kill()
        return {
            node: member.report
            for node, member in self._members.items()
            if member.report is not None and now - member.heard_ns < _FRESH_NS
        }

    def errors(self) -> dict[str, str]:
        """What keeps nodes from serving."""
        found = {}
        for node, member in self._members.items():
            error = member.report.error if member.report is not None else member.error
            if error:
                found[node] = error
        return found

    def close(self, timeout_s: float) -> None:
        """End all; blocks until they have ended, or the time is over."""
        for node in list(self._members):
            self.remove(node)
        wait(self._closing.values(), timeout_s)


def _hear(member: _Member, now_ns: int) -> None:
    """Take in an answer that is there."""
    if member.asked is None or not member.asked.done():
        return
    try:
        member.report = member.asked.result()
    except Exception as error:  # whatever ended the agent, or its call
        member.report = None
        member.error = one_line(error, 500)
    else:
        member.heard_ns = now_ns
        member.due_ns = now_ns + _LOST_NS
    member.asked = None
