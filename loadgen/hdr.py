"""Latencies as an HDR histogram log, which HdrHistogram's tools of every language read and add up.

The percentiles of a summary are exact, as a run keeps the row of every query; a histogram is for
what many runs, or many machines, came to together.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.record import Records

LONGEST_NS = 3_600_000_000_000
"""Longer latencies count as an hour."""

_DIGITS = 3
_NS_PER_MS = 1_000_000


def hdr_missing() -> str | None:
    """Why no histogram can be made; None where one can."""
    try:
        import hdrh.histogram  # noqa: F401
    except ImportError:
        return "HDR histograms need hdrhistogram (pip install 'surplus-engine[hdr]')"
    return None


def latencies_ns(records: Records) -> NDArray[np.int64]:
    """Of the measured queries that succeeded, from their intended send times."""
    rows = records.measured()
    latencies: NDArray[np.int64] = (rows.done_ns - rows.intended_ns)[rows.kind == 0]
    return latencies


def write_hdr_log(path: Path, records: Records, comment: str) -> None:
    """Write one interval: a run's latencies in nanoseconds, three digits exact.

    Raises
    ------
    LoadgenError
        If hdrhistogram is not installed.
    OSError
        If the file cannot be written.
    """
    if reason := hdr_missing():
        raise LoadgenError(reason)
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogWriter

    histogram = HdrHistogram(1, LONGEST_NS, _DIGITS)
    clipped = np.clip(latencies_ns(records), 1, LONGEST_NS)
    for value, count in zip(*np.unique(clipped, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))
    rows = records.measured()
    window_ns = int(rows.done_ns.max() - rows.intended_ns.min()) if len(rows) else 0
    histogram.set_start_time_stamp(0)
    histogram.set_end_time_stamp(window_ns / _NS_PER_MS)
    with path.open("w", encoding="ascii") as file:
        log = HistogramLogWriter(file)
        log.output_comment(ascii(comment))
        log.output_log_format_version()
        log.output_legend()
        log.output_interval_histogram(histogram)
