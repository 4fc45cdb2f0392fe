"""A process that runs models for the server, as metrics see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from surplus.engine.serving.metrics.lane_sample import LaneSample


@dataclass(frozen=True)
class WorkerSample:
    """One of them.

    Parameters
    ----------
    name : str
        Of its model, or of its group of models.
    process : int
        0 while it is being started.
    starts : int
        How often it was started, with the first.
    lanes : sequence of LaneSample
        What they have done since it was started.
    """

    name: str
    process: int
    starts: int
    lanes: Sequence[LaneSample]
