"""Where each tensor of a plan lies for the core: a value slot in each memory that has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surplus.engine import _core
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.segmentation.plan import Copy, Plan, Segment


class Slots:
    """The value slot of each tensor in each memory.

    Parameters
    ----------
    segments, copies
        Of the part of the plan that is lowered.
    """

    def __init__(
        self,
        builder: _core.PlanBuilder,
        graph: Graph,
        plan: Plan,
        segments: Sequence[Segment],
        copies: Sequence[Copy],
    ) -> None:
        self._builder = builder
        self._graph = graph
        self._memories = plan.memories
        self._copied = {(c.tensor, plan.memories[c.target]) for c in plan.copies}
        self._slots: dict[tuple[str, str], int] = {}
        self._home = {name: plan.memories[s.device] for s in plan.segments for name in s.outputs}
        self._written = {(name, self._home[name]) for s in segments for name in s.outputs}
        self._written |= {(c.tensor, plan.memories[c.target]) for c in copies}

    def made(self, name: str) -> int:
        """The slot where a tensor is produced; inputs start in the memory of device 0."""
        return self.at(name, self._home.get(name, self._memories[0]))

    def read(self, name: str, device: int) -> int:
        """The slot from which a device reads; metadata-only tensors are read where they are."""
        return self.at(*self._read_at(name, device))

    def awaited(self, names: Iterable[str], device: int) -> list[int]:
        """Slots from which a device reads these, as far as the part that is lowered writes them."""
        keys = (self._read_at(name, device) for name in names)
        return [self.at(*key) for key in keys if key in self._written]

    def declared(self, name: str) -> tuple[int, list[int] | None]:
        """Element type and shape, -1 where an extent is open; None if its rank may be another."""
        index = self._graph.tensor_index[name]
        tensor = self._graph.tensors[index]
        if tensor.shape is None or index in self._graph.doubtful_ranks:
            return tensor.elem_type, None
        return tensor.elem_type, [d if isinstance(d, int) else -1 for d in tensor.shape]

    def _read_at(self, name: str, device: int) -> tuple[str, str]:
        key = name, self._memories[device]
        return key if key in self._copied else (name, self._home.get(name, self._memories[0]))

    def at(self, name: str, memory: str) -> int:
        """The slot of a tensor in a memory."""
        key = (name, memory)
        if key not in self._slots:
            self._slots[key] = self._builder.add_value(f"{name}@{memory}")
        return self._slots[key]
