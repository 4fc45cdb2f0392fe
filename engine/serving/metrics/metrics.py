"""The metrics of one server: looked at on its event loop, written down in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from prometheus_client import Metric
from prometheus_client.process_collector import ProcessCollector

from surplus.engine import _core
from surplus.engine.devices.machine_memory import resident_bytes
from surplus.engine.serving.data_plane import DataPlane
from surplus.engine.serving.metrics import catalogue
from surplus.engine.serving.metrics.exposition import family, model_families, text_of
from surplus.engine.serving.metrics.gpu_samples import Gpus
from surplus.engine.serving.metrics.lane_sample import LaneSample
from surplus.engine.serving.metrics.machine_samples import (
    CpuUse,
    lane_counts,
    lane_samples,
    memory_sample,
)
from surplus.engine.serving.metrics.policy_sample import PolicySample
from surplus.engine.serving.metrics.replica_sample import ReplicaSample
from surplus.engine.serving.metrics.samples import ModelSample, model_samples
from surplus.engine.serving.metrics.worker_sample import WorkerSample
from surplus.engine.version import version

_SERVER = "server"
"""What the lanes of the server's own process are called after."""


class Metrics:
    """Answers scrapes.

    Parameters
    ----------
    plane : DataPlane
        Of the server.
    """

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane
        self._cpu = CpuUse()
        self._gpus = Gpus()
        self._process = ProcessCollector(registry=None)

    async def text(self, prefixes: Sequence[str] = ()) -> bytes:
        """As Prometheus reads it, of names that begin so, or of all. On the server's event loop."""
        models, workers = model_samples(self._plane.models), self._plane.workers()
        others = self._plane.replicas(), self._plane.policies()
        families = await asyncio.to_thread(self._families, models, workers, *others)
        wanted = [one for one in families if not prefixes or one.name.startswith(tuple(prefixes))]
        return await asyncio.to_thread(text_of, wanted)

    def _families(
        self,
        models: Sequence[ModelSample],
        workers: Sequence[WorkerSample],
        replicas: Sequence[ReplicaSample],
        policies: Sequence[PolicySample],
    ) -> tuple[Metric, ...]:
        return (
            *model_families(models),
            *_lanes(workers),
            *_memory(workers),
            *_replicas(replicas),
            *_policies(policies),
            *self._machine(),
            *self._process.collect(),
        )

    def _machine(self) -> Iterator[Metric]:
        whole, used = memory_sample()
        yield family(catalogue.CPU_UTILIZATION, [((), self._cpu.share())])
        yield family(catalogue.CPU_MEMORY_TOTAL, [((), whole)])
        yield family(catalogue.CPU_MEMORY_USED, [((), used)])
        gpus = self._gpus.samples()
        yield family(catalogue.GPU_UTILIZATION, [((g.uuid,), g.utilization) for g in gpus])
        yield family(catalogue.GPU_MEMORY_TOTAL, [((g.uuid,), g.memory_bytes) for g in gpus])
        yield family(catalogue.GPU_MEMORY_USED, [((g.uuid,), g.used_bytes) for g in gpus])
        yield family(catalogue.GPU_POWER, [((g.uuid,), g.power_w) for g in gpus])
        yield family(catalogue.GPU_POWER_LIMIT, [((g.uuid,), g.power_limit_w) for g in gpus])
        yield family(catalogue.GPU_ENERGY, [((g.uuid,), g.energy_j) for g in gpus])
        yield family(catalogue.BUILD, [((version(),), 1)])


def _lanes(workers: Sequence[WorkerSample]) -> Iterator[Metric]:
    counts = [((_SERVER, device), count) for device, count in lane_counts()]
    yield family(catalogue.LANES, counts)
    found = {_SERVER: lane_samples(), **{worker.name: worker.lanes for worker in workers}}
    rows = [_lane_row(process, lane) for process, lanes in found.items() for lane in lanes]
    yield family(catalogue.LANE_BUSY, rows)


def _memory(workers: Sequence[WorkerSample]) -> Iterator[Metric]:
    account = _core.process_memory()
    resident = {worker.name: resident_bytes(worker.process) for worker in workers}
    held = account.held_bytes
    kinds = {
        "queries": held,
        "rest": max(0, resident_bytes() - held),
        "workers": sum(resident.values()),
    }
    yield family(catalogue.MEMORY, [((kind,), size) for kind, size in kinds.items()])
    yield family(catalogue.MEMORY_LIMIT, [((), account.limit_bytes)])
    yield family(catalogue.MEMORY_REFUSALS, [((), account.refused)])
    yield family(catalogue.WORKER_MEMORY, [((name,), size) for name, size in resident.items()])
    yield family(catalogue.WORKER_STARTS, [((one.name,), one.starts) for one in workers])


def _replicas(replicas: Sequence[ReplicaSample]) -> Iterator[Metric]:
    rows = [
        ((one.name, outcome), getattr(one, outcome))
        for one in replicas
        for outcome in ("sent", "answered", "failed", "retried")
    ]
    yield family(catalogue.REPLICA_QUERIES, rows)
    ejections = [((one.name,), one.ejections) for one in replicas]
    yield family(catalogue.REPLICA_EJECTIONS, ejections)
    yield family(catalogue.REPLICA_EJECTED, [((one.name,), one.is_ejected) for one in replicas])
    yield family(catalogue.REPLICA_PENDING, [((one.name,), one.in_flight) for one in replicas])


def _policies(policies: Sequence[PolicySample]) -> Iterator[Metric]:
    yield family(catalogue.POLICY_OFFERED, [((one.name,), one.offered) for one in policies])
    yield family(catalogue.POLICY_IN_TIME, [((one.name,), one.in_time) for one in policies])
    yield family(catalogue.POLICY_MOST, [((one.name,), one.most) for one in policies])
    yield family(catalogue.POLICY_NEED, [((one.name,), one.need) for one in policies])


def _lane_row(process: str, lane: LaneSample) -> tuple[tuple[str, ...], float]:
    return (process, lane.device, lane.lane, lane.kind), lane.busy_ns / 1e9
