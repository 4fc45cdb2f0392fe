"""Runs a deployment: looks at its nodes, plans, tells nodes and clients, again and again.

It is in no query's way: without it, servers serve on as they were told last. Whoever takes its
place finds agents and models as they are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from surplus.cluster import ClusterNode
from surplus.engine.deployment.cluster_file import ClusterFile, DeployedModel
from surplus.engine.deployment.directory import Directory, ListedReplica
from surplus.engine.deployment.handover import Duty, Handover
from surplus.engine.deployment.machines import Machines, RemoteAgent
from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.node_kinds import NodesByKind
from surplus.engine.deployment.node_report import ModelVersions, NodeReport
from surplus.engine.deployment.node_servers import Options
from surplus.engine.deployment.planning import Planning
from surplus.engine.deployment.rate_meter import NS_PER_S, RateMeter
from surplus.engine.deployment.renewals import renewals
from surplus.engine.deployment.rollouts import Rollouts
from surplus.engine.deployment.roster import Roster
from surplus.engine.deployment.staged_models import Versions

_FIRST_NS = 120 * NS_PER_S
"""Until all is served for the first time, for so long at most, rates are those of the file."""


class ClusterController:
    """Of one deployment. ``step`` is for one thread.

    Parameters
    ----------
    file : ClusterFile
    machines : Machines
    versions : mapping of str to tuple of int
        To serve at first, by model.
    directory : Directory
        That clients are answered from.
    look_s : float
        From one look at the nodes to the next.
    clock_ns : callable
        Monotonic.

    Raises
    ------
    ValueError
        If there is no node of a kind, a model fits none of the nodes, or a node has less than its
        kind says.
    """

    def __init__(
        self,
        file: ClusterFile,
        machines: Machines,
        versions: Mapping[str, Versions],
        directory: Directory,
        look_s: float = 0.5,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._file = file
        self._machines = machines
        self._directory = directory
        self._look_s = look_s
        self._clock_ns = clock_ns
        self._nodes = NodesByKind(file, machines)
        self._fleet: Sequence[ClusterNode] = self._nodes.fleet(frozenset())
        self._planning = Planning(file, self._fleet)
        self._meter = RateMeter(clock_ns())
        self._roster = Roster(self._agent_on)
        self._handover = Handover(round(file.grace_s * NS_PER_S))
        self._rollouts = Rollouts(versions)
        self._assigned: Mapping[str, ModelVersions] = {}
        self._options: Mapping[str, Options] = {}
        self._reports: Mapping[str, NodeReport] = {}
        self._lock = threading.Lock()
        self._expects_until_ns = clock_ns() + _FIRST_NS
        self._adopt()
        directory.publish(dict.fromkeys(file.models, ()))

    def params(self, node: str) -> AgentParams:
        """Of the agent on a node."""
        return self._nodes.params(node)

    def node_ids(self) -> list[str]:
        """Nodes that may be used and are there."""
        return sorted(self._nodes.ids)

    def step(self) -> None:
        """One look, and what follows from it."""
        with self._lock:
            self._adjust_members()
            reports = self._roster.look(self._assigned, self._options, self._look_s, self._clock_ns)
            self._reports = reports
            self._meter.see(reports)
            self._plan()
            ready = {node: set(report.ready) for node, report in reports.items()}
            duty = self._handover.step(self._planning.placed(), ready, self._clock_ns())
            assigned = self._rollouts.step(duty.held, reports)
            # Who has not been heard of yet goes on with what it was told in another life.
            self._assigned = {**{node: {} for node in reports}, **assigned}
            self._options = renewals(self._nodes.options(), reports)
            self._publish(duty)

    def update(self, file: ClusterFile, versions: Mapping[str, Versions]) -> None:
        """Serve other versions, or other models, or with other options, from now on.

        Raises
        ------
        ValueError
            If a model fits none of the nodes; nothing has changed then.
        """
        with self._lock:
            if _but_for_versions(file) != _but_for_versions(self._file):
                self._planning = Planning(file, self._fleet, self._planning.rates_per_s)
            self._file = file
            self._nodes.update(file)
            for name in self._rollouts.targets.keys() - versions.keys():
                self._rollouts.forget(name)
            for name, own in versions.items():
                self._rollouts.aim(name, own)

    def status(self) -> dict[str, Any]:
        """Models and nodes, as JSON has them."""
        with self._lock:
            listed = self._directory.models()
            return {
                "deployment": self._file.name,
                "models": {
                    name: {
                        "versions": list(versions),
                        "replicas": len(listed.get(name, ())),
                        "is_rolled_out": self._rollouts.is_done(name),
                        "failure": self._rollouts.failures.get(name, ""),
                        "shortfall": self._planning.shortfalls().get(name, ""),
                    }
                    for name, versions in self._rollouts.targets.items()
                },
                "nodes": self._node_rows(),
            }

    def nodes(self) -> list[dict[str, Any]]:
        """Nodes as JSON has them."""
        with self._lock:
            return self._node_rows()

    def is_settled(self) -> bool:
        """Whether all that is planned is served, in the versions that it is to be served in."""
        with self._lock:
            return self._is_settled()

    def close(self, timeout_s: float) -> None:
        """Take everything back."""
        with self._lock:
            self._directory.publish(dict.fromkeys(self._file.models, ()))
            self._roster.close(timeout_s)
            self._machines.ask_for([])

    def _adopt(self) -> None:
        """Go on with agents that are there.

        Raises
        ------
        ValueError
            If one was started with other options.
        """
        there = self._machines.with_agents(self._file.name)
        for node in sorted(there.keys() & self._nodes.ids):
            if there[node] != self._nodes.params(node).mark:
                text = "serves with another repository, or other resources of [kinds]"
                raise ValueError(f"node {node[:12]} {text}: end it with --down first")
            self._roster.add(node, self._clock_ns())

    def _agent_on(self, node: str) -> RemoteAgent:
        return self._machines.agent(self._nodes.params(node))

    def _is_settled(self) -> bool:
        placed = self._planning.placed()
        targets = self._rollouts.targets
        is_served = all(
            node in self._reports and self._reports[node].ready.get(name) == targets[name]
            for node, names in placed.items()
            for name in names
        )
        options = self._nodes.options()
        is_renewed = all(own.options == options.get(n) for n, own in self._reports.items())
        return (
            is_served
            and is_renewed
            and {node for node, own in self._assigned.items() if own} == set(placed)
        )

    def _adjust_members(self) -> None:
        """Agents where there is something to do, and nowhere else."""
        now_ns = self._clock_ns()
        there = self._nodes.ids
        held = self._planning.held()
        busy = {node for node, models in self._assigned.items() if models}
        for node in sorted((held | busy) & there - self._roster.shunned(now_ns)):
            self._roster.add(node, now_ns)
        idle = {node for node in self._assigned if node not in busy}
        for node in sorted(self._roster.members & idle - held):
            self._roster.remove(node)

    def _plan(self) -> None:
        """Again, if nodes came or went, a window is over, or somebody waits for a model."""
        now_ns = self._clock_ns()
        fleet = self._nodes.fleet(self._roster.shunned(now_ns))
        if fleet != self._fleet:
            self._fleet = fleet
            self._planning.refleet(fleet)
        waking = self._directory.waking()
        if now_ns < self._expects_until_ns:
            self._meter.take(now_ns)
            if self._is_settled():
                self._expects_until_ns = now_ns
        elif self._meter.elapsed_s(now_ns) >= self._file.window_s:
            self._planning.step(self._meter.take(now_ns), waking)
        elif waking - {name for names in self._planning.placed().values() for name in names}:
            self._planning.wake(waking)
        self._machines.ask_for(self._nodes.bundles(self._planning.held()))

    def _publish(self, duty: Duty) -> None:
        found: dict[str, list[ListedReplica]] = {name: [] for name in self._file.models}
        for node, names in sorted(duty.told.items()):
            report = self._reports[node]
            one = ListedReplica(report.addresses.grpc, report.addresses.http, report.load)
            for name in names & found.keys():
                found[name].append(one)
        self._directory.publish(found)

    def _node_rows(self) -> list[dict[str, Any]]:
        errors = self._roster.errors()
        rows = []
        for node in sorted(self._roster.members):
            report = self._reports.get(node, NodeReport())
            rows.append(
                {
                    "node": node,
                    "kind": self._nodes.kind_of(node),
                    "grpc": report.addresses.grpc,
                    "http": report.addresses.http,
                    "metrics": report.addresses.metrics,
                    "models": {name: list(own) for name, own in report.ready.items()},
                    "failed": {**report.failed, **report.uncopied},
                    "load": report.load,
                    "starts": report.starts,
                    "error": errors.get(node, ""),
                }
            )
        return rows


def _but_for_versions(file: ClusterFile) -> dict[str, DeployedModel]:
    """What of a file is planned by."""
    return {name: replace(table, versions=()) for name, table in file.models.items()}
