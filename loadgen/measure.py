"""One measurement of a target, from parameters to summaries."""

from __future__ import annotations

from rich.console import Console

from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.measurement import Measurement
from surplus.loadgen.progress import LoadWatcher
from surplus.loadgen.query_plan import kinds_of, make_plan
from surplus.loadgen.targets import target_of


async def measure(params: MeasureParams, console: Console) -> Measurement:
    """Run the load against the target.

    Raises
    ------
    LoadgenError
        If the server cannot be reached, the inputs cannot be made, or there is no native client
        where one is asked for.
    """
    kinds, _ = kinds_of(params.models, params.process)
    async with target_of(params, kinds) as target:
        plan = make_plan(params.models, params.loop.load, params.process, params.seed)
        return await target.run(params.loop, plan, LoadWatcher(console))
