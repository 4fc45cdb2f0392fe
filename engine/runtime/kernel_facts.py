"""What is said of a model's kernels: whose they are, and how far its answers are from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surplus.engine.segmentation.plan import Plan


def facts_of(
    plan: Plan, checked: Mapping[str, Any] | None, dropped: Sequence[str] = ()
) -> dict[str, str]:
    """For people and for metadata: ``kernels``, and ``largest_difference`` where it is known.

    Parameters
    ----------
    dropped : sequence of str
        Segments that go on with ONNX Runtime's kernels, as most queries had other sizes than these
        were compiled for; ``dropped_kernels`` says so.
    checked : mapping, optional
        How the plan's answers compared with the whole model's in one ONNX Runtime session, as
        ``StoredPlan.checked``: the difference is of the output's largest magnitude.
    """
    found = {"kernels": ", ".join(_used(plan)) or "ONNX Runtime"}
    difference = None if checked is None else checked.get("difference")
    if difference is not None:
        output = checked.get("output") if checked else ""
        where = f" (output {output!r})" if output else ""
        found["largest_difference"] = f"{difference:.3g}{where}"
    if dropped:
        count = f"{len(set(dropped))} of {len(plan.segments)} segments"
        found["dropped_kernels"] = (
            f"{count} run with ONNX Runtime's kernels: most queries had other sizes than the"
            " library's were compiled for"
        )
    return found


def failures_of(plan: Plan) -> str:
    """Which of its libraries of kernels are not used any more, and why; or empty."""
    if not plan.libraries:
        return ""
    from surplus.engine.kernels.registry import failure_of  # few plans name any

    return "; ".join(filter(None, map(failure_of, plan.libraries)))


def _used(plan: Plan) -> list[str]:
    if not plan.libraries:
        return []
    from surplus.engine.kernels.registry import LIBRARIES, version_of

    total = len(plan.segments)
    rows = []
    for library in plan.libraries:
        count = sum(1 for s in plan.segments if s.kernels and s.kernels.library == library)
        share = "" if count == total else f" in {count} of {total} segments"
        used = {s.kernels.precision for s in plan.segments if s.kernels}
        precision = "".join(f" in {name}" for name in sorted(used - {"f32"}))
        rows.append(f"{LIBRARIES[library].title} {version_of(library)}{precision}{share}")
    return rows
