"""The extension point of targets: a server, or models in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.progress import LoadWatcher
from surplus.loadgen.query_plan import QueryPlan
from surplus.loadgen.targets.feed import Feeding


class Target(AbstractAsyncContextManager["Target"], Protocol):
    """What kinds of queries are sent to, as often as wanted while it is entered.

    Entering it reaches the server or loads the models, and makes the inputs. It raises
    LoadgenError saying why it cannot.
    """

    async def run(
        self, loop: ClosedLoopParams | OpenLoopParams, plan: QueryPlan, watcher: LoadWatcher
    ) -> Measurement:
        """Run a load while a bar shows how far it is; the plan's kinds are the target's.

        Raises
        ------
        TargetError
            If a server went away.
        """
        ...

    def feed(self, keeps: bool = False) -> Feeding:
        """Of queries that somebody else decides upon, one by one; keeps answers if asked."""
        ...


TARGETS: dict[str, Callable[[MeasureParams, Sequence[AskedModel]], Target]] = {}
"""By protocol, or runtime: makes a target for queries of these kinds."""


def target_of(params: MeasureParams, kinds: Sequence[AskedModel]) -> Target:
    """The target that is asked for, not yet entered."""
    return TARGETS[params.transport.protocol](params, kinds)
