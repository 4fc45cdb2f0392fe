"""Which segments of a plan a GPU runs as captured graphs, and why others are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from surplus.engine.segmentation.plan import Plan, Segment


def captures(plan: Plan, captured_nodes: Collection[int] | None = None) -> dict[str, str]:
    """A line for each GPU that a plan uses, ready to be shown; empty without one.

    Parameters
    ----------
    captured_nodes : collection of int, optional
        What the core captured, as ``_core.Plan.captured_nodes``; by default what was planned.
    """
    ranked = sorted(plan.segments, key=lambda segment: segment.rank)
    found: dict[str, str] = {}
    for index, name in enumerate(plan.devices):
        rows = [(node, s) for node, s in enumerate(ranked) if s.device == index and _on_gpu(s)]
        if rows:
            reasons = [_reason(s, node, captured_nodes) for node, s in rows]
            found[f"graphs captured on {name}"] = _words(reasons)
    return found


def _on_gpu(segment: Segment) -> bool:
    return segment.captured or bool(segment.not_captured)


def _reason(segment: Segment, node: int, captured_nodes: Collection[int] | None) -> str:
    if not segment.captured:
        return segment.not_captured
    failed = captured_nodes is not None and node not in captured_nodes
    return "capture failed" if failed else ""


def _words(reasons: list[str]) -> str:
    others = Counter(reason for reason in reasons if reason)
    text = f"{reasons.count('')} of {len(reasons)} segments"
    return "; ".join([text, *(f"{count} not: {reason}" for reason, count in others.items())])
