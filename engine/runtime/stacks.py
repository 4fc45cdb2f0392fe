"""How queries of a model that wait at the same time may be answered together, by one call.

What is known of one model on this machine: which queries, how many rows, how long that takes, and
from how many rows on a query's bits are those that it has alone (engine/planning/stack_search.py).
The core forms the batches (engine/core/devices/cpu/stack.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from surplus.engine import _core
from surplus.engine.devices.spec import traits_of
from surplus.engine.segmentation.plan import Plan

MOST_ROWS = 1024
"""Of a batch, whoever asks."""

_LEAST_SAVED_NS = 20_000
"""What a row must save, unless a size is asked for: to stack queries, take answers apart and wake
all callers at once costs some microseconds a query, and more where callers are threads of Python
that then wait for one another. Lenet, whose rows save 9 us, let a fifth fewer through so."""


@dataclass(frozen=True)
class StackedShape:
    """What an input of a query that is stacked has behind the leading dimension."""

    name: str
    elem_type: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class RowsTime:
    """What a call takes for so many rows."""

    rows: int
    ns: int


@dataclass(frozen=True)
class Stacks:
    """What was found out of a model as one segment of one lane.

    Parameters
    ----------
    why_not : str
        Why its queries are answered one by one; empty if they may be answered together.
    shapes : tuple of StackedShape
        By input, in any order.
    times : tuple of RowsTime
        Measured, ascending, from one row to as many as are worth it.
    same_from : int
        Rows of a query from which on its bits are the same in every stack; 0: they never are.
    """

    why_not: str = ""
    shapes: tuple[StackedShape, ...] = ()
    times: tuple[RowsTime, ...] = ()
    same_from: int = 0

    def least_rows(self, *, any_bits: bool) -> int:
        """Rows that a query must have, to be answered with others; 0: none ever is."""
        return 1 if any_bits else self.same_from

    @property
    def saved_ns(self) -> int:
        """How much less a row takes in the largest batch than alone."""
        most = self.times[-1]
        return self.times[0].ns - most.ns // most.rows

    def takes_ns(self, most_rows: int) -> list[int]:
        """What calls take for 1, 2, ... rows, those not measured in between; so many at most."""
        found = [self.times[0].ns]
        for before, after in pairwise(self.times):
            step = (after.ns - before.ns) / (after.rows - before.rows)
            found += [
                max(1, round(before.ns + step * (rows - before.rows)))
                for rows in range(before.rows + 1, after.rows + 1)
            ]
        return found[:most_rows]


@dataclass(frozen=True)
class StackUse:
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
