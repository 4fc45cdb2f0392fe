"""What one lane did, as its own process says it and others read it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LaneSample:
    """For how long a lane computed.

    Parameters
    ----------
    lane : str
        Its number; "all" where it is not known which of the device's it was.
    kind : str
        "lane", "lent" or "best_effort".
    """

    device: str
    lane: str
    kind: str
    busy_ns: int
