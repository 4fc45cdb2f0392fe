"""The only lane of a model's machine, held while a test submits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine import _core
from surplus.engine.runtime.model import Model

PIECE_NS = 10_000_000
PIECES = 1_000  # longer than any test takes to submit, shorter than what they promise
HOLD_NS = PIECES * PIECE_NS


@contextmanager
def held_lane(model: Model) -> Iterator[None]:
    """Its lane, by a plan called ``holder``, until the block ends."""
    builder = _core.PlanBuilder(model._machine)
    after: list[int] = []
    for _ in range(PIECES):  # a run is cancelled between its nodes
        after = [builder.add_work("hold", 0, after, spin_ns=PIECE_NS)]
    builder.set_inputs([])
    builder.set_outputs([])
    plan = builder.build()
    plan.be_called("holder")
    held = plan.submit([], priority=1_000)
    time.sleep(PIECE_NS / 1e9)
    try:
        yield
    finally:
        held.cancel()
    assert held.wait()
    assert held.status == "cancelled"  # it was held until now
