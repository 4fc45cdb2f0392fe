"""Machines that are alike: what they have, cost, and take to start and to load a model."""

from __future__ import annotations

from dataclasses import dataclass

from surplus.colocation.frame.clock import NS_PER_S


@dataclass(frozen=True)
class NodeKind:
    """A kind of node.

    Parameters
    ----------
    name : str
        What profiles are looked up by.
    devices : int
        Processors that a node has, all alike; >= 1.
    memory_bytes : int
        Of each device; > 0.
    price_per_hour : float
        Of a node, in any currency; > 0. Planners compare prices only with one another.
    start_ns : int
        From asking for a node to its being ready to load models; >= 0.
    load_bytes_per_s : float
        How fast a model comes into a device's memory; > 0.
    fixed_load_ns : int
        What loading takes besides, whatever the model: sessions, first runs; >= 0.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    name: str
    devices: int
    memory_bytes: int
    price_per_hour: float = 1.0
    start_ns: int = 60 * NS_PER_S
    load_bytes_per_s: float = 1e9
    fixed_load_ns: int = NS_PER_S

    def __post_init__(self) -> None:
        for key in ("devices", "memory_bytes"):
            if getattr(self, key) < 1:
                raise ValueError(
                    f"kind {self.name!r}: {key} must be >= 1, got {getattr(self, key)}"
                )
        for key in ("price_per_hour", "load_bytes_per_s"):
            if not 0 < getattr(self, key) < float("inf"):
                text = f"{key} must be > 0 and finite, got {getattr(self, key)}"
                raise ValueError(f"kind {self.name!r}: {text}")
        if min(self.start_ns, self.fixed_load_ns) < 0:
            raise ValueError(f"kind {self.name!r}: start_ns and fixed_load_ns must be >= 0")

    def load_ns(self, memory_bytes: int) -> int:
        """Nanoseconds until a model of so many bytes serves on a node that is ready."""
        return self.fixed_load_ns + round(memory_bytes / self.load_bytes_per_s * NS_PER_S)
