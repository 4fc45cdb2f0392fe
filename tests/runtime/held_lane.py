"""The only lane of a machine, held while a test submits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine import _core

PIECE_NS = 10_000_000
PIECES = 1_000  # longer than any test takes to submit, shorter than what they promise
HOLD_NS = PIECES * PIECE_NS


@contextmanager
def held_lane(machine: _core.Machine) -> Iterator[None]:
    """Its lane, by a plan called ``holder``, until the block ends."""
    builder = _core.PlanBuilder(machine)
    after: list[int] = []
    for _ in range(PIECES):  # a run is cancelled between its nodes
        after = [builder.add_work("hold", 0, after, spin_ns=PIECE_NS)]
    builder.set_inputs([])
    builder.set_outputs([])
    plan = builder.build()
    plan.be_called("holder")
    held = plan.submit([], priority=1_000)
    while machine.stats()["devices"][0]["queued"]:
        pass
    try:
        yield
    finally:
        held.cancel()
    assert held.wait()
    assert held.status == "cancelled"  # it was held until now
