"""One model on the devices of the check: as the engine runs it, and whole on the GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from bench.gpu_check.fixed_sizes import with_fixed_sizes
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.infrastructure.built_models import built
from surplus.engine.devices.machines import machine_for
from surplus.engine.dfg.graph import Graph
from surplus.engine.pipeline.load import load_planned
from surplus.engine.planning.stages import Costs, costs_of, measure, plan_of, read_model
from surplus.engine.profiling.profile import Profile
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.throughput_switch import Departure
from surplus.engine.segmentation.capture import refusal_of
from surplus.engine.segmentation.coarse import predict
from surplus.engine.segmentation.groups import GroupGraph, TaskGroup
from surplus.engine.segmentation.plan import Plan
from surplus.engine.segmentation.segmenter import Candidate
from surplus.engine.segmentation.service import ServiceTimes

POLICY = "best"
"""The shorter, by simulation, of Comm+SD and HEFT."""


class Subject:
    """A model to be measured.

    Parameters
    ----------
    gpu_memory : str
        As in ``surplus.load``; of the engine's plan only.
    fixed : bool
        Whether its open sizes are fixed to those of the example inputs, for all contenders.
    """

    def __init__(
        self, spec: ModelSpec, setting: Setting, gpu_memory: str = "", *, fixed: bool = False
    ) -> None:
        self.spec, self.setting, self._gpu_memory = spec, setting, gpu_memory
        path, made = built(spec.name, folder=setting.work, **spec.parameters)
        self.inputs: Mapping[str, np.ndarray[Any, Any]] = made
        self.path = with_fixed_sizes(path, made) if fixed else path

    @cached_property
    def graph(self) -> Graph:
        """Its graph, through the check's own cache."""
        return read_model(self.path, self.setting.cache)

    @cached_property
    def profile(self) -> Profile:
        """What its operators cost on the devices; known ones come from the cache."""
        return measure(self.graph, self.setting.specs, self.inputs, self.setting.cache)

    @cached_property
    def costs(self) -> Costs:
        """The profile applied to the graph, the GPU's memory being as large as it is."""
        return costs_of(self.graph, self.profile, self.setting.specs)

    def engine(self) -> PlannedModel:
        """The plan that a user gets; made once for all units of the check."""
        return load_planned(
            self.path,
            self.setting.devices,
            POLICY,
            inputs=self.inputs,
            cache=self.setting.cache,
            gpu_memory=self._gpu_memory,
            relaxed_numerics=True,
        )

    def predicted_at_first_ns(self, plan: Plan) -> int:
        """The makespan of a plan from what the profile says of its operators, nothing of it run."""
        groups = {TaskGroup(s.tasks, s.device, s.width): s.rank for s in plan.segments}
        graph = GroupGraph(self.costs.problem, groups)
        order = [groups[group] for group in graph.groups]
        return predict(graph, self.costs.service, order=order).makespan_ns

    def why_not_captured(self) -> str:
        """Why the whole model cannot be a captured graph; empty if it can."""
        spec = self.setting.specs[self.setting.gpu]
        if not spec.captured:
            return "the device captures no graphs"
        everything = range(len(self.graph.tasks))
        refused = refusal_of(self.graph, everything)
        if refused or self.costs.service.is_captured(tuple(everything), self.setting.gpu):
            return refused
        return "the profile knows no times in captured graphs"

    def whole(self, *, captured: bool) -> PlannedModel:
        """The whole model as one segment of the GPU: what ONNX Runtime makes of it.

        Operators that the GPU cannot run are left to the session, which falls back to the CPU.
        """
        gpu, graph = self.setting.gpu, self.graph
        service = _filled(self.costs.service, gpu, captured)
        everything = tuple(range(len(graph.tasks)))
        groups = GroupGraph(self.costs.problem, [TaskGroup(everything, gpu)])
        title = "whole as a captured graph" if captured else "whole"
        candidate = Candidate(title, groups, predict(groups, service))
        plan = plan_of(graph, Costs(self.costs.problem, service), candidate, "one segment")
        return PlannedModel(graph, plan, machine_for(self.setting.specs), Departure.NEVER)


def _filled(service: ServiceTimes, gpu: int, captured: bool) -> ServiceTimes:
    """Times of all tasks on the GPU, the CPU's where it has none; without graphs if so wished."""
    row = [
        away if away is not None else home or 0
        for away, home in zip(service.task_ns[gpu, 1], service.task_ns[0, 1], strict=True)
    ]
    times = {**service.task_ns, (gpu, 1): row}
    return replace(service, task_ns=times, captured_ns=service.captured_ns if captured else {})
