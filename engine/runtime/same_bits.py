"""Whether two plans of a model give the same bits.

A session gives the same bits on one lane as on all of them. Other cuts need not: ONNX Runtime fuses
within a segment, not across its boundaries, and another device has other kernels. So has another
library, which need not even give the same bits on one lane.
"""

from __future__ import annotations

from surplus.engine.devices.spec import traits_of
from surplus.engine.segmentation.plan import Plan, Segment


def same_bits(plan: Plan, other: Plan) -> bool:
    """Whether both have the same segments on the same devices, whatever their widths and order."""
    return plan.source_hash == other.source_hash and _sessions(plan) == _sessions(other)


def same_cuts(plan: Plan, other: Plan) -> bool:
    """Whether both have the same segments, those of GPUs on whichever of them."""
    return plan.source_hash == other.source_hash and _cuts(plan) == _cuts(other)


def _cuts(plan: Plan) -> frozenset[object]:
    return frozenset(
        (
            traits_of(plan.devices[s.device]).is_host,
            *(s.tasks, s.inputs, s.outputs, s.joins, s.shards),
            _kernels(s),
        )
        for s in plan.segments
    )


def _sessions(plan: Plan) -> frozenset[object]:
    return frozenset(
        (plan.devices[s.device], s.tasks, s.inputs, s.outputs, s.joins, s.shards, _kernels(s))
        for s in plan.segments
    )


def _kernels(segment: Segment) -> object:
    kernels = segment.kernels
    if kernels is None:
        return None
    width = None if kernels.any_width else segment.width
    return kernels.library, kernels.inputs, kernels.precision, width
