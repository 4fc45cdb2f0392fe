"""In which order a model's tasks run, and which of them run as one segment, on which device.

On one device that is the order of the graph. Where a machine's CPU takes part, it is that of the
plan that was measured for one query on the CPU and the device (``surplus.load``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.scheduling.parts import Cluster, Place
from surplus.engine.scheduling.stacking import Arrays
from surplus.engine.segmentation.plan import Plan


@dataclass(frozen=True)
class TaskOrder:
    """Tasks in the order in which they run; those of one segment follow one another.

    Parameters
    ----------
    clusters : tuple of Cluster
        The segments, uncut.
    """

    clusters: tuple[Cluster, ...]

    @property
    def tasks(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(task for cluster in self.clusters for task in cluster.tasks)

    def cut(self, first: int, end: int) -> tuple[Cluster, ...]:
        """The tasks at ``first <= place < end``, as pieces of the segments that they are of."""
        of = [index for index, cluster in enumerate(self.clusters) for _ in cluster.tasks]
        rows = zip(self.tasks[first:end], of[first:end], strict=True)
        return tuple(
            self.clusters[index]._replace(tasks=tuple(task for task, _ in own))
            for index, own in groupby(rows, key=lambda row: row[1])
        )


def task_order(
    graph: Graph, path: Path, place: Place, inputs: Arrays, gpu_memory: str, cache: Path | None
) -> TaskOrder:
    """The order on a place.

    Parameters
    ----------
    gpu_memory : str
        As ``LoadParams.gpu_memory``: what does not fit runs on the CPU that takes part.

    Raises
    ------
    ConfigError
        If the GPU's memory is limited, and no CPU takes part.
    EngineError
        If the model cannot be planned.
    """
    alone = TaskOrder((Cluster(tuple(range(len(graph.tasks)))),))
    if not place.with_host:
        if gpu_memory:
            text = f"gpu_memory {gpu_memory}: no CPU takes part in plans for {place.spec.name!r}"
            raise ConfigError(f"{text}, where what does not fit could run; name one beside it")
        return alone
    host, device = place.devices[0], replace(place.spec, lanes=1, share_percent=100)
    params = LoadParams(
        devices=f"{host.text},{device.text}", cache=cache, tune="now", gpu_memory=gpu_memory
    )
    plan = load_with(path, params, inputs).plan
    return alone if plan.shards > 1 else TaskOrder(_clusters(plan))


def _clusters(plan: Plan) -> tuple[Cluster, ...]:
    ranked = sorted(plan.segments, key=lambda segment: segment.rank)
    return tuple(Cluster(s.tasks, is_on_host=s.device == 0, width=s.width) for s in ranked)
