"""Which models are unloaded for want of queries, and what they are woken for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surplus.cluster.frame.cluster_model import ClusterModel
from surplus.cluster.frame.node_kind import NodeKind
from surplus.cluster.queueing.overflow import Floats

_LEAST_QUERIES = 2.0
"""A window that a model is kept ready for, however rare its queries."""


class Sleep:
    """Scales to zero what may sleep; nobody whose first answer would then be later than allowed.

    Parameters
    ----------
    models : sequence of ClusterModel
    kinds : sequence of NodeKind
        The slowest of them to load a model is what counts. That a node is up is the planner's
        to see to.
    windows : int
        Without queries after which a model is unloaded; >= 1.
    """

    def __init__(
        self, models: Sequence[ClusterModel], kinds: Sequence[NodeKind], windows: int
    ) -> None:
        if windows < 1:
            raise ValueError(f"windows must be >= 1, got {windows}")
        self._windows = windows
        load_ns = [max(k.load_ns(m.service.memory_bytes) for k in kinds) for m in models]
        self._may = np.array([m.may_sleep(t) for m, t in zip(models, load_ns, strict=True)])
        self._idle = np.full(len(models), windows)
        self._awake_per_s = np.zeros(len(models))

    def see(
        self,
        seen_per_s: Floats,
        planned_per_s: Floats,
        waking: npt.NDArray[np.bool_],
        window_s: float,
    ) -> Floats:
        """What to plan for: 0 for who sleeps, for who wakes what it had when it fell asleep."""
        least = _LEAST_QUERIES / window_s
        self._idle = np.where((seen_per_s > 0) | waking, 0, self._idle + 1)
        asleep = self._may & (self._idle >= self._windows)
        wanted = np.maximum(planned_per_s, least)
        wanted = np.where(waking, np.maximum(wanted, self._awake_per_s), wanted)
        self._awake_per_s = np.where(self._idle <= 1, wanted, self._awake_per_s)
        return np.where(asleep, 0.0, wanted)
