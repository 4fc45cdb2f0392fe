"""A model that a cluster serves, and whether there is a kind of node that it fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surplus.cluster.frame.node_kind import NodeKind
from surplus.colocation.frame.clock import NS_PER_MS
from surplus.colocation.frame.profile import LatencyProfile
from surplus.colocation.frame.service import Service


@dataclass(frozen=True)
class ClusterModel:
    """A deployed model.

    Parameters
    ----------
    service : Service
        Its name, target, largest batch and memory.
    profiles : mapping of str to LatencyProfile
        By kind of node; it is not placed on kinds that have none.
    items : int
        That a query brings, at most; 1 to the largest batch.
    sequence : int
        Longest sequence.
    in_time : float
        Part of its queries that is to be answered within the target; > 0 and < 1.
    first_answer_ns : int, optional
        How late the first answer may be after a time without queries; None if the model is to
        stay loaded always.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    service: Service
    profiles: Mapping[str, LatencyProfile]
    items: int = 1
    sequence: int = 0
    in_time: float = 0.99
    first_answer_ns: int | None = None

    def __post_init__(self) -> None:
        most = self.service.max_batch
        if not 1 <= self.items <= most:
            raise ValueError(f"model {self.name!r}: items must be 1 to {most}, got {self.items}")
        if not 0 < self.in_time < 1:
            text = f"in_time must be > 0 and < 1, got {self.in_time}"
            raise ValueError(f"model {self.name!r}: {text}")

    @property
    def name(self) -> str:
        """That of the service."""
        return self.service.name

    @property
    def most_queries(self) -> int:
        """Of a batch."""
        return self.service.max_batch // self.items

    def latency_ns(self, kind: str, queries: int, share_percent: int) -> int:
        """Profiled time of a batch on a share of a device.

        Raises
        ------
        ValueError
            If the profile does not reach that far, or there is none for the kind.
        """
        if kind not in self.profiles:
            raise ValueError(f"model {self.name!r} has no profile for kind {kind!r}")
        items = self.items * queries
        return self.profiles[kind].latency_ns(items, self.sequence, share_percent)

    def may_sleep(self, load_ns: int) -> bool:
        """Whether it may be unloaded, if it is back after so long."""
        return self.first_answer_ns is not None and load_ns <= self.first_answer_ns


def misfit(model: ClusterModel, kind: NodeKind) -> str | None:
    """Why no node of a kind can serve a model, with the amounts; None if one can."""
    if kind.name not in model.profiles:
        return "no profile"
    needed = model.service.memory_bytes
    if needed > kind.memory_bytes:
        return f"needs {needed} bytes of {kind.memory_bytes}"
    try:
        took_ns = model.latency_ns(kind.name, 1, 100)
    except ValueError as error:
        return str(error)
    if took_ns > model.service.slo_ns:
        target_ms = model.service.slo_ns / NS_PER_MS
        return f"a query takes {took_ns / NS_PER_MS:g} ms, the target is {target_ms:g} ms"
    return None


def check_fits(models: Sequence[ClusterModel], kinds: Sequence[NodeKind]) -> None:
    """Check that each model fits some kind of node.

    Raises
    ------
    ValueError
        Naming the first that does not, and what each kind lacks.
    """
    for model in models:
        reasons = {kind.name: misfit(model, kind) for kind in kinds}
        if all(reason is not None for reason in reasons.values()):
            text = "; ".join(f"{name!r}: {reason}" for name, reason in reasons.items())
            raise ValueError(
                f"model {model.name!r} fits no kind of node: {text or 'there is none'}"
            )
