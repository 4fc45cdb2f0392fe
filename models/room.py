"""How far a graph may grow: parameters within their bounds may be too much together."""

from __future__ import annotations

from pathlib import Path

MOST_NODES = 2**20
"""Thousands of times what any model has that people use; they are built within a minute."""

_SHARE_OF_MEMORY = 0.8
"""For the weights; the rest is for the one that is being made, and for everybody else."""


class BuildBudget:
    """What is left of the nodes of a graph and of the memory for its weights."""

    def __init__(self) -> None:
        self._nodes = MOST_NODES
        self._all_bytes = self._bytes = int(available_bytes() * _SHARE_OF_MEMORY)

    def take_node(self) -> None:
        """Count one more node.

        Raises
        ------
        ValueError
            If there are more than ``MOST_NODES``.
        """
        self._nodes -= 1
        if self._nodes < 0:
            raise ValueError(f"with these parameters the graph has more than {MOST_NODES} nodes")

    def take_bytes(self, count: int) -> None:
        """Count so many more bytes of weights.

        Raises
        ------
        ValueError
            If all take more than most of the memory that was free before the first one.
        """
        self._bytes -= count
        if self._bytes < 0:
            raise ValueError(
                "with these parameters the weights take more than the"
                f" {self._all_bytes / 1e9:.3g} GB of memory that there are for them"
            )


def available_bytes() -> int:
    """Memory and swap that the system can give; more than anybody has where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":") for line in lines)
        return sum(int(fields[name].split()[0]) << 10 for name in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError):
        return 2**62
