"""What a family of scenarios is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Document = dict[str, Any]
"""What a scenario's file holds; docs/COLOCATION.md."""


@dataclass(frozen=True)
class ScenarioFamily:
    """Scenarios that look alike.

    Parameters
    ----------
    summary : str
        What they look like, in a few words.
    make : callable
        A scenario from a source of random numbers; ``name``, ``seed``, ``policies`` and
        ``duration_s`` are filled in by who asks.
    measured : bool
        Whether its files begin with ``{data}``, so that it needs a folder of measurements.
    """

    summary: str
    make: Callable[[np.random.Generator], Document]
    measured: bool = False
