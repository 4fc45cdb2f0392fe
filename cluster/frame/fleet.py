"""The nodes that a planner may use, each of a kind, checked against what it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from surplus.cluster.frame.node_kind import NodeKind
from surplus.colocation.frame.service import ServingDevice


@dataclass(frozen=True)
class ClusterNode:
    """A machine, and the devices that were found in it.

    Parameters
    ----------
    name : str
    kind : int
        Index of its kind.
    devices : tuple of ServingDevice
    """

    name: str
    kind: int
    devices: tuple[ServingDevice, ...]


@dataclass(frozen=True)
class Fleet:
    """All nodes that there are or that may be asked for, in the order in which they are taken.

    Raises
    ------
    ValueError
        If two kinds or two nodes have one name, or a node has fewer devices or less memory than
        its kind says; the message names it, what it has and what it lacks.
    """

    kinds: tuple[NodeKind, ...]
    nodes: tuple[ClusterNode, ...]

    def __post_init__(self) -> None:
        _check_names("kind", [kind.name for kind in self.kinds])
        _check_names("node", [node.name for node in self.nodes])
        for node in self.nodes:
            if not 0 <= node.kind < len(self.kinds):
                raise ValueError(f"node {node.name!r}: there is no kind {node.kind}")
            _check_devices(node, self.kinds[node.kind])

    @classmethod
    def of(cls, counts: Sequence[tuple[NodeKind, int]]) -> Fleet:
        """So many nodes of each kind, with what their kinds say that they have."""
        nodes: list[ClusterNode] = []
        for index, (kind, count) in enumerate(counts):
            devices = tuple(
                ServingDevice(f"device{k}", kind.memory_bytes) for k in range(kind.devices)
            )
            nodes += [ClusterNode(f"{kind.name}-{k}", index, devices) for k in range(count)]
        return cls(tuple(kind for kind, _ in counts), tuple(nodes))

    @cached_property
    def kind_of(self) -> npt.NDArray[np.int64]:
        """Indices of kinds, by node."""
        return np.array([node.kind for node in self.nodes], np.int64)

    def kind(self, node: int) -> NodeKind:
        """The kind of a node."""
        return self.kinds[self.nodes[node].kind]


def _check_names(what: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1}) if _repeats(names) else []
    if twice:
        raise ValueError(f"two {what}s have the name {twice[0]!r}")


def _repeats(names: Sequence[str]) -> bool:
    return len(set(names)) < len(names)


def _check_devices(node: ClusterNode, kind: NodeKind) -> None:
    if len(node.devices) < kind.devices:
        text = f"nodes of kind {kind.name!r} have {kind.devices} devices, it has"
        raise ValueError(f"node {node.name!r}: {text} {len(node.devices)}")
    for device in node.devices:
        if device.memory_bytes is not None and device.memory_bytes < kind.memory_bytes:
            text = f"{device.memory_bytes} bytes, kind {kind.name!r} says {kind.memory_bytes}"
            raise ValueError(f"node {node.name!r}, device {device.name!r}: {text}")
