"""Whether a model may run another plan while its queries overlap (throughput_switch.py)."""

from __future__ import annotations

from enum import StrEnum


class Departure(StrEnum):
    """Whether a model may have one.

    A model as one segment gives the same bits on one lane as on all, and so does each of its
    segments, but for those of a fixed width. Several segments made one need not: ONNX Runtime then
    fuses across their boundaries, and rounds otherwise. ``SAME_CUTS`` keeps the segments as they
    are but for their widths.
    """

    NEVER = "never"
    SAME_BITS = "same bits"
    SAME_CUTS = "same cuts"
    ALWAYS = "always"
