"""What a measurement comes to."""

from __future__ import annotations

from typing import NamedTuple

from surplus.loadgen.record import Records
from surplus.loadgen.stats import LoadSummary


class Measurement(NamedTuple):
    """A summary, and the rows that it is made of."""

    summary: LoadSummary
    records: Records
