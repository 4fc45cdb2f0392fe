"""What a measurement comes to."""

from __future__ import annotations

from typing import NamedTuple

from surplus.loadgen.record import Records
from surplus.loadgen.stats import LoadSummary


class ModelMeasurement(NamedTuple):
    """What the queries of one of several models came to."""

    name: str
    version: str
    summary: LoadSummary
    records: Records


class Measurement(NamedTuple):
    """A summary, and the rows that it is made of; parts of models where there are several."""

    summary: LoadSummary
    records: Records
    models: tuple[ModelMeasurement, ...] = ()
