"""What loadgen measures of the same server."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from bench.serving.payloads import Payload
from surplus.loadgen.arrivals.spec import make_arrivals
from surplus.loadgen.asked_model import AskedModel
from surplus.loadgen.capacity.find import find_capacity
from surplus.loadgen.capacity.misses import misses_of
from surplus.loadgen.capacity.params import LatencyTarget, RampParams
from surplus.loadgen.capacity.search import RateFound
from surplus.loadgen.clients.inputs import InputParams
from surplus.loadgen.clock import NS_PER_S, precise_loop
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.hdr import latencies_ns
from surplus.loadgen.measure import measure
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.params import NS_PER_MS, MlperfParams
from surplus.loadgen.mlperf.result import MlperfResult
from surplus.loadgen.mlperf.run import run_mlperf
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import Records

_WARMUP_NS = NS_PER_S // 2


class Ours:
    """Measurements of one model of a server.

    Parameters
    ----------
    port : int
        For gRPC, on this machine.
    payload : Payload
    """

    def __init__(self, port: int, payload: Payload) -> None:
        self._url = f"127.0.0.1:{port}"
        inputs = InputParams(shapes={name: a.shape for name, a in payload.inputs.items()})
        self._models = (AskedModel(payload.name, inputs=inputs),)

    def closed_latencies_ns(self, clients: int, queries: int) -> NDArray[np.int64]:
        """Of a closed loop of so many queries at least."""
        load = LoadgenParams(0, queries, _WARMUP_NS)
        return latencies_ns(self._measured(self._asking(ClosedLoopParams(load, clients))))

    def open_latencies_ns(self, rate_per_s: float, queries: int, seed: int) -> NDArray[np.int64]:
        """Of an open loop of so many Poisson arrivals at least."""
        asking = self._asking(
            OpenLoopParams(LoadgenParams(0, queries, _WARMUP_NS)), rate_per_s, seed
        )
        return latencies_ns(self._measured(asking))

    def open(self, rate_per_s: float, seconds: float, seed: int) -> Records:
        """An open loop of Poisson arrivals."""
        load = LoadgenParams(round(seconds * NS_PER_S), 1, _WARMUP_NS)
        return self._measured(self._asking(OpenLoopParams(load), rate_per_s, seed))

    def server_scenario(
        self, rate_per_s: float, queries: int, seed: int, folder: Path
    ) -> MlperfResult:
        """MLPerf's, by LoadGen, of so many queries at least."""
        asked = MlperfParams(
            "server",
            NS_PER_MS,  # as short as may be: what ends it is the number of queries
            rate_per_s=rate_per_s,
            target_ns=NS_PER_S,
            least_queries=queries,
            seed=seed,
        )
        params = self._asking(ClosedLoopParams(users=asked.most_in_flight))
        with asyncio.Runner(loop_factory=precise_loop) as runner:
            return runner.run(run_mlperf(params, asked, _WARMUP_NS, folder, _silent()))

    def capacity(self, target_ns: int, seconds: float) -> RateFound:
        """The rate of which 99 % are answered within that, by windows so long; tells of each."""
        window_ns = max(round(seconds * NS_PER_S), 20 * target_ns)
        ramp = RampParams(LatencyTarget(target_ns, 99.0), window_ns)
        process = make_arrivals("poisson", 1.0)
        with asyncio.Runner(loop_factory=precise_loop) as runner:
            params = self._asking(OpenLoopParams(), 1.0)
            return runner.run(find_capacity(params, process, ramp, Console(stderr=True)))

    def late_share(self, rate_per_s: float, seconds: float, seed: int, target_ns: int) -> float:
        """Of the queries of an open loop at that rate."""
        return misses_of(self.open(rate_per_s, seconds, seed), target_ns).share

    def _asking(
        self,
        loop: ClosedLoopParams | OpenLoopParams,
        rate_per_s: float | None = None,
        seed: int = 0,
    ) -> MeasureParams:
        process = None if rate_per_s is None else make_arrivals("poisson", rate_per_s)
        return MeasureParams(self._url, self._models, loop, process, seed)

    def _measured(self, params: MeasureParams) -> Records:
        with asyncio.Runner(loop_factory=precise_loop) as runner:
            return runner.run(measure(params, _silent())).records


def gaps_cv(runs: Sequence[NDArray[np.int64]]) -> float:
    """Coefficient of variation of the gaps between times, of all runs together."""
    gaps = np.concatenate([np.diff(np.sort(times_ns)) for times_ns in runs])
    return float(gaps.std() / gaps.mean())


def _silent() -> Console:
    return Console(file=io.StringIO())
