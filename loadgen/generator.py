"""What the load generator itself did while it measured: whether it was the limit."""

from __future__ import annotations

from dataclasses import dataclass

BUSY_SHARE = 0.9
"""Of the time: a generator that has more to do than that is taken for the limit."""


@dataclass(frozen=True)
class Generator:
    """The client that sent the queries, over the measured part of a run.

    Parameters
    ----------
    client : str
        ``native`` or ``python``.
    threads, connections : int
        As they were used.
    busy_share : float
        Of the time that the busiest thread had something to do, in [0, 1]; that it computed, for
        the Python client.
    cpu_share : float
        Of the time that it computed. Less than ``busy_share`` where others had its core.
    gave_up : bool
        Whether it ended before its time, as there was no server any more.
    instead : str
        Why it was not the native client, if nobody asked for another one.
    """

    client: str
    threads: int
    connections: int
    busy_share: float
    cpu_share: float
    gave_up: bool = False
    instead: str = ""

    @property
    def is_bottleneck(self) -> bool:
        """Whether the server may be faster than what was measured."""
        return self.busy_share > BUSY_SHARE

    @property
    def is_short_of_a_core(self) -> bool:
        """Whether it is that because others had its core, rather than for its own work."""
        return self.is_bottleneck and self.cpu_share < self.busy_share / 2

    def __str__(self) -> str:
        count = f"{self.threads} thread{'s' * (self.threads > 1)}"
        connections = f"{self.connections} connection{'s' * (self.connections > 1)}"
        return f"{self.client}, {count}, {connections}"

    @property
    def load(self) -> str:
        """How busy it was, for people."""
        said = f"{self.busy_share:.0%} (computing {self.cpu_share:.0%})"
        if self.is_short_of_a_core:
            return f"{said}: SHORT OF A CORE"
        return f"{said}: THE BOTTLENECK" if self.is_bottleneck else said
