"""Which requests are of which model, so that what was measured can be told by model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.generator import Generator
from surplus.loadgen.measurement import Measurement, ModelMeasurement
from surplus.loadgen.record import Records
from surplus.loadgen.stats import summarise


class CountedRequests:
    """How many requests each kind of queries has; they are numbered one kind after the other.

    Parameters
    ----------
    kinds : sequence of AskedModel
    counts : sequence of int
        As many, each >= 1.
    """

    def __init__(self, kinds: Sequence[AskedModel], counts: Sequence[int]) -> None:
        self.counts = tuple(counts)
        names = [(kind.name, kind.version) for kind in kinds]
        self._models = tuple(dict.fromkeys(names))
        places = [self._models.index(name) for name in names]
        self._model_of = np.repeat(places, self.counts)

    def measurement(
        self, records: Records, is_open: bool, generator: Generator | None
    ) -> Measurement:
        """All of it, and each model's part where there are several."""
        summary = summarise(records, is_open, generator)
        if len(self._models) == 1:
            return Measurement(summary, records)
        model_of = self._model_of[records.request]
        parts = []
        for place, (name, version) in enumerate(self._models):
            rows = records.where(model_of == place)
            own = summarise(rows, is_open, window_ns=summary.window_ns)
            parts.append(ModelMeasurement(name, version, own, rows))
        return Measurement(summary, records, tuple(parts))
