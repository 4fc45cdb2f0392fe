"""How well a policy for several models does, as metrics and ``engine top`` see it."""

from __future__ import annotations

from typing import NamedTuple


class PolicySample(NamedTuple):
    """The queries that came within the last seconds, all of which have ended or are late.

    Parameters
    ----------
    name : str
        The policy's.
    window_ns : int
        How long they came for; 0 before anything is old enough.
    offered, in_time : int
        Queries, and those of them that were answered in time.
    most : float
        That any policy could have answered in time, by the models' profiles.
    need : float
        Devices that the queries hold at least, by the profiles.
    devices : int
        That there are.
    """

    name: str
    window_ns: int
    offered: int
    in_time: int
    most: float
    need: float
    devices: int
