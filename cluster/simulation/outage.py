"""Servers that are killed and nodes that are lost, in a simulated cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outage:
    """A time in which a node does not serve; what it had to do is gone.

    Parameters
    ----------
    node : int
    begin_ns, end_ns : int
        At the end a server is there again, with what the plan has for it.
    silent : bool
        Of a lost node: nobody is told. Connections to a server that is killed end at once.

    Raises
    ------
    ValueError
        If it does not end after its begin.
    """

    node: int
    begin_ns: int
    end_ns: int
    silent: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.begin_ns < self.end_ns:
            text = f"must begin at 0 or later and end after that, not {self.begin_ns} and"
            raise ValueError(f"node {self.node}: an outage {text} {self.end_ns} ns")


def check_outages(outages: Sequence[Outage], nodes: int) -> None:
    """Check that outages of one node do not overlap.

    Raises
    ------
    ValueError
        If they do, or there is no such node.
    """
    last_ns: dict[int, int] = {}
    for outage in sorted(outages, key=lambda o: o.begin_ns):
        if not 0 <= outage.node < nodes:
            raise ValueError(f"there is no node {outage.node}; there are {nodes}")
        if outage.begin_ns <= last_ns.get(outage.node, -1):
            raise ValueError(f"node {outage.node}: two outages at {outage.begin_ns} ns")
        last_ns[outage.node] = outage.end_ns
