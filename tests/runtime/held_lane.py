"""The only lane of a model's machine, held while a test submits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from surplus.engine import _core
from surplus.engine.runtime.model import Model

HOLD_NS = 80_000_000


@contextmanager
def held_lane(model: Model, hold_ns: int = HOLD_NS) -> Iterator[None]:
    """Its lane, by a plan called ``holder``, for as long as it takes to submit."""
    builder = _core.PlanBuilder(model._machine)
    builder.add_work("hold", 0, [], spin_ns=hold_ns)
    builder.set_inputs([])
    builder.set_outputs([])
    plan = builder.build()
    plan.be_called("holder")
    held = plan.submit([], priority=1_000)
    time.sleep(hold_ns / 8e9)
    yield
    assert held.wait()
