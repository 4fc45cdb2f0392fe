"""A server whose latencies are known: it computes nothing and answers after times of a list.

``python -m bench.loadgen_agreement.known_server PORT [in-turn]`` serves one model over gRPC until
it is ended; queries do not wait for each other, or come one after another. What two clients measure
of it differs by the clients alone: the machine's pace, which moves by a fifth between two turns,
has no part in a time that is slept.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import model_config_pb2, service_pb2, service_pb2_grpc

from bench.infrastructure.ports import free_port
from bench.serving.grpc_aio_server import served_until_ended
from bench.serving.payloads import Payload, floats_16
from bench.serving.server_process import ServerProcess
from surplus.loadgen.clock import precise_loop

COUNT = 500
"""Queries after which the times come again, in the same order."""

MEDIAN_NS, MEDIAN_IN_TURN_NS = 10_000_000, 2_500_000
"""The shorter one, so that queues of many queries come and go within seconds."""

_SPREAD = 0.4
"""Of a lognormal distribution: its 99th percentile is 2.5 times its median."""


def service_times_ns(median_ns: int = MEDIAN_NS) -> NDArray[np.int64]:
    """How long each of COUNT queries takes: a distribution's quantiles in a random order."""
    normal = statistics.NormalDist()
    quantiles = np.array([normal.inv_cdf((place + 0.5) / COUNT) for place in range(COUNT)])
    times = np.rint(median_ns * np.exp(_SPREAD * quantiles)).astype(np.int64)
    return np.random.default_rng(1).permutation(times)


def known_capacity_per_s(target_ns: int, share: float = 0.01, queries: int = 400_000) -> float:
    """The rate of Poisson arrivals that wait in turn of which that share comes too late.

    By Lindley's recursion of so many queries: each waits for what the former one has left.
    """
    random = np.random.default_rng(2)
    gaps = random.exponential(1.0, queries)
    took_ns = np.resize(service_times_ns(MEDIAN_IN_TURN_NS), queries)
    low, high = 0.0, 1e9 / float(took_ns.mean())
    while high - low > 1e-3 * high:
        rate = (low + high) / 2
        grown = np.cumsum(took_ns[:-1] - gaps[1:] * 1e9 / rate)
        waited = np.concatenate([[0.0], grown - np.minimum.accumulate(np.minimum(grown, 0.0))])
        is_kept = np.mean(waited + took_ns > target_ns) <= share
        low, high = (rate, high) if is_kept else (low, rate)
    return low


def start_known(folder: Path, *, is_in_turn: bool = False) -> ServerProcess:
    """In a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "bench.loadgen_agreement.known_server", str(port)]
    command += ["in-turn"] * is_in_turn
    payload = floats_16()
    return ServerProcess(command, {"grpc": port}, {payload.name: payload}, folder / "known.log")


class _Known(service_pb2_grpc.GRPCInferenceServiceServicer):
    """What perf_analyzer and loadgen ask for."""

    def __init__(self, payload: Payload, *, is_in_turn: bool) -> None:
        self._payload, self._is_in_turn, self._free_s = payload, is_in_turn, 0.0
        times_ns = service_times_ns(MEDIAN_IN_TURN_NS if is_in_turn else MEDIAN_NS)
        self._times_s = itertools.cycle((times_ns / 1e9).tolist())
        (array,) = payload.inputs.values()
        self._shape = list(array.shape)

    async def ServerLive(self, request: Any, context: Any) -> Any:
        return service_pb2.ServerLiveResponse(live=True)

    async def ServerReady(self, request: Any, context: Any) -> Any:
        return service_pb2.ServerReadyResponse(ready=True)

    async def ServerMetadata(self, request: Any, context: Any) -> Any:
        return service_pb2.ServerMetadataResponse(name="known", version="1")

    async def ModelReady(self, request: Any, context: Any) -> Any:
        return service_pb2.ModelReadyResponse(ready=True)

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        answer = service_pb2.ModelMetadataResponse(name=request.name, versions=["1"])
        for name in self._payload.inputs:
            answer.inputs.add(name=name, datatype="FP32", shape=self._shape)
        for name in self._payload.outputs:
            answer.outputs.add(name=name, datatype="FP32", shape=self._shape)
        return answer

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        config = model_config_pb2.ModelConfig(name=request.name, platform="known")
        for name in self._payload.inputs:
            config.input.add(name=name, data_type="TYPE_FP32", dims=self._shape)
        for name in self._payload.outputs:
            config.output.add(name=name, data_type="TYPE_FP32", dims=self._shape)
        return service_pb2.ModelConfigResponse(config=config)

    async def ModelStatistics(self, request: Any, context: Any) -> Any:
        answer = service_pb2.ModelStatisticsResponse()
        answer.model_stats.add(name=request.name, version="1")
        return answer

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        """What came, after the next time of the list."""
        now_s = time.monotonic()
        begins_s = max(now_s, self._free_s) if self._is_in_turn else now_s
        # Until an instant, so that what one sleeps too long is not added to all behind it.
        self._free_s = begins_s + next(self._times_s)
        await asyncio.sleep(self._free_s - now_s)
        answer = service_pb2.ModelInferResponse(model_name=request.model_name, model_version="1")
        for name in self._payload.outputs:
            answer.outputs.add(name=name, datatype="FP32", shape=self._shape)
        answer.raw_output_contents.extend(request.raw_input_contents)
        return answer


async def _serve(port: int, *, is_in_turn: bool) -> None:
    server, known = grpc.aio.server(), _Known(floats_16(), is_in_turn=is_in_turn)
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(known, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await served_until_ended(server)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=precise_loop) as runner:
        runner.run(_serve(int(sys.argv[1]), is_in_turn="in-turn" in sys.argv[2:]))
