"""Which nodes of a cluster are of which kind, and what they have."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set

from surplus.cluster import ClusterNode, Fleet
from surplus.colocation.frame.service import ServingDevice
from surplus.engine.deployment.cluster_file import ClusterFile, KindTable
from surplus.engine.deployment.machines import FoundNode, Machines
from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.node_servers import Options

_LOG = logging.getLogger(__name__)


class NodesByKind:
    """The nodes that a deployment may use, those that would have to be started included.

    Parameters
    ----------
    file : ClusterFile
    machines : Machines

    Raises
    ------
    ValueError
        If there is no node of a kind and none could be asked for, or one has less than its kind
        says; with names and amounts.
    """

    def __init__(self, file: ClusterFile, machines: Machines) -> None:
        self._file = file
        self._machines = machines
        self._found: dict[str, tuple[FoundNode, int]] = {}
        self._refused: set[str] = set()
        self._tables = list(file.kinds.values())
        self._look(strictly=True)
        for index, (name, table) in enumerate(file.kinds.items()):
            if not table.most and not any(kind == index for _, kind in self._found.values()):
                there = "; ".join(
                    f"{node.id[:8]}: {_text(node.resources)}" for node in machines.nodes()
                )
                text = f"no node has {_text(table.resources)}; there are {there or 'none'}"
                raise ValueError(f"kind {name!r}: {text}")

    @property
    def ids(self) -> Set[str]:
        """Of the nodes that are there."""
        return self._found.keys()

    def kind_of(self, node: str) -> str:
        """The name of a node's kind; empty of one that is gone."""
        found = self._found.get(node)
        return "" if found is None else list(self._file.kinds)[found[1]]

    def fleet(self, shunned: Set[str]) -> tuple[ClusterNode, ...]:
        """Nodes for a planner: those that are there first, but for some; then those to come.

        Whoever is shunned is better than nobody.
        """
        self._look(strictly=False)
        if self._found.keys() <= shunned:
            shunned = frozenset()
        there = [
            _cluster_node(node, kind, self._tables[kind])
            for node, kind in self._found.values()
            if node.id not in shunned
        ]
        for kind, (name, table) in enumerate(self._file.kinds.items()):
            own = sum(of == kind for _, of in self._found.values())
            there += [_to_come(f"{name}+{k}", kind, table) for k in range(own, table.most)]
        return tuple(there)

    def params(self, node: str) -> AgentParams:
        """What the agent on a node is told.

        Raises
        ------
        KeyError
            If it is gone.
        """
        found, kind = self._found[node]
        table = self._tables[kind]
        file = self._file
        return AgentParams(
            file.name, node, found.address, file.repository, table.serve, dict(table.resources)
        )

    def options(self) -> dict[str, Options]:
        """Of ``engine serve``, by node."""
        return {node: self._tables[kind].serve for node, (_, kind) in self._found.items()}

    def update(self, file: ClusterFile) -> None:
        """Take over options of ``engine serve``; all else of the kinds is as it was."""
        self._file = file
        self._tables = list(file.kinds.values())

    def bundles(self, held: Set[str]) -> list[Mapping[str, float]]:
        """Of Ray's resources, what the nodes that are in use or wanted come to."""
        wanted = []
        for name in sorted(held):
            kind = self._found[name][1] if name in self._found else self._kind_to_come(name)
            if kind is not None and self._tables[kind].resources:
                wanted.append(self._tables[kind].resources)
        return wanted

    def _kind_to_come(self, name: str) -> int | None:
        names = list(self._file.kinds)
        kind = name.rpartition("+")[0]
        return names.index(kind) if kind in names else None

    def _look(self, strictly: bool) -> None:
        """Note who is there; nodes keep the order in which they came."""
        now = {node.id: node for node in self._machines.nodes()}
        self._found = {id: own for id, own in self._found.items() if id in now}
        for id, node in now.items():
            kind = self._kind_for(node)
            if id in self._found or id in self._refused or kind is None:
                continue
            try:
                Fleet(self._file.node_kinds, (_cluster_node(node, kind, self._tables[kind]),))
            except ValueError as error:
                if strictly:
                    raise
                _LOG.warning("not used: %s", error)
                self._refused.add(id)
                continue
            own = sum(of == kind for _, of in self._found.values())
            if not self._tables[kind].most or own < self._tables[kind].most:
                self._found[id] = (node, kind)

    def _kind_for(self, node: FoundNode) -> int | None:
        """The first whose resources it has."""
        for kind, table in enumerate(self._tables):
            if all(node.resources.get(key, 0) >= least for key, least in table.resources.items()):
                return kind
        return None


def _cluster_node(node: FoundNode, kind: int, table: KindTable) -> ClusterNode:
    """With the devices and the memory that it has, as far as Ray says."""
    count = int(node.resources.get("GPU", 0)) if "GPU" in table.resources else table.devices
    most = table.node_kind(node.id).memory_bytes
    found = node.resources.get("memory")
    if found is not None and "GPU" not in table.resources:
        most = min(most, int(found) // max(1, count))
    devices = tuple(ServingDevice(f"device{k}", most) for k in range(count))
    return ClusterNode(node.id, kind, devices)


def _to_come(name: str, kind: int, table: KindTable) -> ClusterNode:
    memory_bytes = table.node_kind(name).memory_bytes
    devices = tuple(ServingDevice(f"device{k}", memory_bytes) for k in range(table.devices))
    return ClusterNode(name, kind, devices)


def _text(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in sorted(resources.items())) or "nothing"
