"""A search on a target."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from surplus.loadgen.arrivals import ArrivalProcess
from surplus.loadgen.capacity.misses import misses_of
from surplus.loadgen.capacity.params import RampParams
from surplus.loadgen.capacity.search import RateFound, RateSearch
from surplus.loadgen.capacity.trial import RateTrial, Window
from surplus.loadgen.first_look import look
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.progress import LoadWatcher
from surplus.loadgen.query_plan import kinds_of, make_plan
from surplus.loadgen.targets import Target, target_of

_FIRST_LOOK = LoadgenParams(1_000_000_000, 10, 300_000_000)


async def find_capacity(
    params: MeasureParams, process: ArrivalProcess, ramp: RampParams, console: Console
) -> RateFound:
    """Find the highest rate of this process that the target holds.

    Parameters
    ----------
    params : MeasureParams
        Of an open loop; how long it lasts is the ramp's to say.
    process : ArrivalProcess
        Its rate is scaled.
    ramp : RampParams
    console : Console
        For progress.

    Raises
    ------
    LoadgenError
        As ``measure``, and if no query succeeds at all.
    """
    kinds, _ = kinds_of(params.models, process)
    async with target_of(params, kinds) as target:
        finding = _Finding(target, params, process, ramp, console)
        start_per_s = ramp.start_per_s
        if start_per_s is None:
            watcher = LoadWatcher(console, "one user")
            seen = await look(target, params, _FIRST_LOOK, watcher)
            start_per_s = seen.summary.throughput_per_s
        return await RateSearch(finding.window, ramp, finding.tell).search(start_per_s)


class _Finding:
    """Windows of one target."""

    def __init__(
        self,
        target: Target,
        params: MeasureParams,
        process: ArrivalProcess,
        ramp: RampParams,
        console: Console,
    ) -> None:
        self._target, self._params, self._process = target, params, process
        self._ramp, self._console = ramp, console

    async def window(self, rate_per_s: float, number: int) -> Window:
        """Run one, with arrivals of its own."""
        params, ramp = self._params, self._ramp
        load = LoadgenParams(ramp.length_ns, ramp.least_queries, ramp.warmup_ns)
        process = self._process.scaled(rate_per_s / self._process.rate_per_s)
        plan = make_plan(params.models, load, process, params.seed + 1 + number)
        loop = params.loop
        assert isinstance(loop, OpenLoopParams)
        watcher = LoadWatcher(self._console, f"window {number + 1}, {rate_per_s:,.4g} /s")
        measured = await self._target.run(replace(loop, load=load), plan, watcher)
        misses = misses_of(measured.records, ramp.target.target_ns)
        return Window(misses, measured.summary)

    def tell(self, trial: RateTrial) -> None:
        """A line for who watches."""
        low, high = trial.interval
        latency = trial.windows[-1].summary.latency
        took = "nothing answered" if latency is None else f"p99 {latency.p99_ns / 1e6:,.2f} ms"
        what = "check, " * trial.is_check + trial.verdict.value
        self._console.print(
            f"{trial.rate_per_s:>12,.5g} /s  {took}, {trial.misses.share:.2%} late"
            f" ({low:.2%} to {high:.2%} of {trial.misses.queries:,}): {what}",
            highlight=False,
            soft_wrap=True,
        )
