"""The plan that a model's queries follow under a policy: one that ``surplus.load`` would run.

On a GPU beside which a CPU takes part that is the plan over both, measured for one query; on a CPU
the plan that is stored for it, or is found now; without any the whole model is one segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ConfigError
from surplus.engine.examples.sizes import inputs_in_question
from surplus.engine.kernels.asked import ONNX_RUNTIME
from surplus.engine.pipeline.loading import load_with
from surplus.engine.planning.job import PlanJob
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.stored_plan import read_plan
from surplus.engine.planning.whole_plan import whole_plan
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.stacking import Arrays
from surplus.engine.segmentation.plan import Plan


@dataclass(frozen=True)
class BasePlanParams:
    """Which plan a policy's queries follow.

    Parameters
    ----------
    tune : {"", "background", "now", "again"}
        As ``LoadParams.tune``; in the background means the plan that is stored, as a policy
        measures what it runs at the start. Empty: the whole model wherever that can be.
    gpu_memory : str
        As ``LoadParams.gpu_memory``: what does not fit runs on the CPU that takes part.
    cache : Path, optional
    """

    tune: str = ""
    gpu_memory: str = ""
    cache: Path | None = None


def base_plan(
    graph: Graph, path: Path, place: Place, inputs: Arrays, params: BasePlanParams
) -> Plan:
    """The plan on a place, its devices being that place's machine or the CPU and the device.

    Not one that splits the batch: policies choose batches themselves.

    Raises
    ------
    ConfigError
        If the GPU's memory is limited, and no CPU takes part.
    EngineError
        If the model cannot be planned.
    """
    whole = whole_plan(graph, place.devices, place.index)
    if params.gpu_memory and not place.with_host:
        text = f"gpu_memory {params.gpu_memory}: no CPU takes part in plans for"
        text = f"{text} {place.spec.name!r}, where what does not fit could run"
        raise ConfigError(f"{text}; name one beside it")
    plan = _loaded(graph, path, place, inputs, params)
    return whole if plan is None or plan.shards > 1 else plan


def _loaded(
    graph: Graph, path: Path, place: Place, inputs: Arrays, params: BasePlanParams
) -> Plan | None:
    """What ``surplus.load`` runs there; None without a plan."""
    load = LoadParams(
        cache=params.cache,
        gpu_memory=params.gpu_memory,
        tune=params.tune or "now",
        kernels=ONNX_RUNTIME,  # a policy cuts segments, and runs them at widths of its own
    )
    if place.with_host:
        device = replace(place.spec, lanes=1, share_percent=100)
        devices = f"{place.devices[0].text},{device.text}"
        tune = "again" if params.tune == "again" else "now"
        return load_with(path, replace(load, devices=devices, tune=tune), inputs).plan
    if not (params.tune and place.spec.traits.is_host):
        return None
    load = replace(load, devices=place.spec.text)
    if params.tune != "background":
        return load_with(path, load).plan
    sizes = inputs_in_question(graph, path, None)
    if sizes is None:
        return None
    job = PlanJob(graph, load, sizes)
    stored = read_plan(job.stored_at, graph, job.question)
    return stored.plan if stored is not None and stored.is_proven_here else None
