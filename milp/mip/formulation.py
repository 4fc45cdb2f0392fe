"""The integer program as a file for its solver."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from surplus.milp.copies import CopyPair
from surplus.milp.memory import MemoryRoom
from surplus.milp.mip.model import PlacementModel
from surplus.milp.reductions import Reduced
from surplus.placement.problem import Problem

BOUND_TOLERANCE = 1e-6
"""What a solver's bound may be too high by, relative to the upper bound: its feasibility and
integrality tolerances times the Big-M."""


class MipFormulation(PlacementModel):
    """Section 5 of SIR+, in MPS format."""

    def __init__(
        self,
        problem: Problem,
        reduced: Reduced,
        copy_pairs: Iterable[CopyPair] = (),
        room: MemoryRoom = MemoryRoom.NEEDED,
    ) -> None:
        super().__init__(problem, reduced, copy_pairs, room)
        self.tolerance_ns = BOUND_TOLERANCE * reduced.upper_ns

    def write(self, folder: Path) -> Path:
        """Store the program as MPS."""
        path = folder / "program.mps"
        self.program.writeMPS(str(path))
        return path
