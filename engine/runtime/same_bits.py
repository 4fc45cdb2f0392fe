"""Whether two plans of a model give the same bits.

A session gives the same bits on one lane as on all of them, unless it is marked otherwise
(engine/planning/fixed_widths.py). Other cuts need not: ONNX Runtime fuses
within a segment, not across its boundaries, and another device has other kernels. So has another
library, which need not even give the same bits on one lane.
"""

from __future__ import annotations

from collections.abc import Callable

from surplus.engine.devices.spec import traits_of
from surplus.engine.segmentation.plan import Plan, Segment

_Kind = Callable[[str], object]
"""What of a device's name counts."""


def same_bits(plan: Plan, other: Plan) -> bool:
    """Whether both have the same segments on the same devices, whatever their widths and order."""
    return _are_alike(plan, other, str)


def same_cuts(plan: Plan, other: Plan) -> bool:
    """Whether both have the same segments, those of GPUs on whichever of them."""
    return _are_alike(plan, other, lambda device: traits_of(device).is_host)


def _are_alike(plan: Plan, other: Plan, kind: _Kind) -> bool:
    sessions = _sessions(plan, kind), _sessions(other, kind)
    return plan.source_hash == other.source_hash and sessions[0] == sessions[1]


def _sessions(plan: Plan, kind: _Kind) -> frozenset[object]:
    return frozenset(
        (
            kind(plan.devices[s.device]),
            s.tasks,
            s.inputs,
            s.outputs,
            s.joins,
            s.shards,
            _kernels(s),
            s.width if s.fixed_width else None,
        )
        for s in plan.segments
    )


def _kernels(segment: Segment) -> object:
    kernels = segment.kernels
    if kernels is None:
        return None
    width = None if kernels.any_width else segment.width
    return kernels.library, kernels.inputs, kernels.precision, width
