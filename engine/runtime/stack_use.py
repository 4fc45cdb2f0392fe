"""The use that a model makes of what is known of its queries in batches (stacks.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from surplus.engine.devices.spec import traits_of

if TYPE_CHECKING:
    from surplus.engine import _core
    from surplus.engine.runtime.stacks import Stacks
    from surplus.engine.segmentation.plan import Plan

MOST_ROWS = 1024
"""Of a batch, whoever asks."""

_LEAST_SAVED_NS = 20_000
"""What a row must save, unless a size is asked for: to stack queries, take answers apart and wake
all callers at once costs some microseconds a query, and more where callers are threads of Python
that then wait for one another. Lenet, whose rows save 9 us, let a fifth fewer through so."""


class StackUse(NamedTuple):
    """What a model makes of it.

    Parameters
    ----------
    found : Stacks, optional
        None where nobody has looked.
    any_bits : bool
        Whether answers may be rounded otherwise than alone.
    max_rows : int, optional
        No batch has more; 0 and 1 turn batches off. As measured if None; a number asks for batches
        that save little, too.
    limit_rows : int, optional
        The same, which asks for nothing.
    """

    found: Stacks | None = None
    any_bits: bool = False
    max_rows: int | None = None
    limit_rows: int | None = None

    def apply(self, native: _core.Plan, plan: Plan) -> None:
        """Have the core batch queries of a plan from now on, if that may be."""
        if not is_stackable(plan):
            return
        if self.refusal or self.found is None:
            native.stack([], [])
            return
        takes_ns = self.found.takes_ns(self._most_rows)
        by_name = {shape.name: shape for shape in self.found.shapes}
        read = [by_name[name] for name in plan.segments[0].inputs]  # in the session's order
        shapes = [(shape.elem_type, list(shape.extents)) for shape in read]
        native.stack(shapes, takes_ns, self.found.least_rows(any_bits=self.any_bits))

    @property
    def refusal(self) -> str:
        """Why no queries are batched; empty if some are."""
        if self._most_rows < 2:
            return "off"
        if self.found is None:
            return "not measured yet"
        if self.found.why_not:
            return self.found.why_not
        if self.max_rows is None and self.found.saved_ns < _LEAST_SAVED_NS:
            saved_us = self.found.saved_ns / 1e3
            return f"a row saves {saved_us:.1f} us only (a number of rows asks for it)"
        least = self.found.least_rows(any_bits=self.any_bits)
        if not 0 < 2 * least <= self._most_rows:
            return "the bits would be others (--any-bits allows it)"
        return ""

    @property
    def facts(self) -> dict[str, str]:
        """For people and metadata: ``batches``, where somebody has looked."""
        return {} if self.found is None else {"batches": self._text(self.found)}

    def _text(self, found: Stacks) -> str:
        if self.refusal:
            return f"none: {self.refusal}"
        takes_ns = found.takes_ns(self._most_rows)
        share = takes_ns[-1] / len(takes_ns) / takes_ns[0]
        least = found.least_rows(any_bits=self.any_bits)
        whose = f" of queries of {least} and more" if least > 1 else ""
        return f"up to {len(takes_ns)} rows{whose}, then {share:.2f} of the time a row"

    @property
    def _most_rows(self) -> int:
        measured = self.found.times[-1].rows if self.found and self.found.times else 2
        return min(rows for rows in (measured, self.max_rows, self.limit_rows) if rows is not None)


def is_stackable(plan: Plan) -> bool:
    """Whether a plan is one call of ONNX Runtime on one lane of a CPU."""
    if len(plan.segments) != 1 or plan.copies or plan.shards > 1:
        return False
    segment = plan.segments[0]
    is_host = traits_of(plan.devices[segment.device]).is_host
    return is_host and segment.width == 1 and segment.kernels is None
