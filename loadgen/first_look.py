"""One user for a moment: whether a target answers at all, how fast, and warm for what follows."""

from __future__ import annotations

from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.errors import TargetError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.progress import LoadWatcher
from surplus.loadgen.query_plan import make_plan
from surplus.loadgen.targets import Target


async def look(
    target: Target, params: MeasureParams, load: LoadgenParams, watcher: LoadWatcher
) -> Measurement:
    """Ask for so long.

    Raises
    ------
    TargetError
        If no query succeeds; it says what was said of them.
    """
    plan = make_plan(params.models, load, None, params.seed)
    measured = await target.run(ClosedLoopParams(load), plan, watcher)
    if not measured.summary.succeeded:
        said = "; ".join(measured.summary.warnings)
        raise TargetError(f"no query succeeded: {said}")
    return measured
