"""Measured costs of a graph's operators on one GPU, remembered between runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surplus.engine import _core
from surplus.engine.devices.host import machine_fingerprint
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError
from surplus.engine.profiling.calibrate import Step, initial_values
from surplus.engine.profiling.operator_probe import (
    ChargeOf,
    Operator,
    OperatorCost,
    OperatorParams,
    OperatorProbe,
    no_charge,
)
from surplus.engine.profiling.segment_probe import Probed, ProbeParams, SegmentProbe, SegmentTimes
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import TimingStore
from surplus.engine.profiling.work import is_alias, work_of

ON_DEVICE_ONLY = {"session.disable_cpu_ep_fallback": "1"}
"""ONNX Runtime refuses what it would otherwise compute on the host, between two copies."""

_FOLDER_KEY = "session.model_external_initializers_file_folder_path"
_STORED = ("gpu time", "gpu launch", "gpu captured")
_UNABLE = -1
"""Stored where the device cannot run, or capture, an operator."""

UNABLE_COST = OperatorCost(Timing(_UNABLE), 0, None)
"""Of an operator that the device does not run."""


@dataclass(frozen=True)
class GpuProfilingParams:
    """How to measure.

    Parameters
    ----------
    heaviest : int
        Of how many operators it is measured how lanes slow each other, >= 1.
    operators, probe : OperatorParams, ProbeParams
        Copies of each operator, and runs of each plan.
    """

    heaviest: int = 3
    operators: OperatorParams = field(default_factory=OperatorParams)
    probe: ProbeParams = field(default_factory=ProbeParams)

    def __post_init__(self) -> None:
        if self.heaviest < 1:
            raise ValueError(f"heaviest must be >= 1, got {self.heaviest}")


class GpuProfiler:
    """Costs of one graph's operators on the second device of a machine that does nothing else.

    Parameters
    ----------
    machine : _core.Machine
        A CPU, then the GPU with two lanes at least.
    title : str
        The GPU's name: times of another one are not reused.
    store : TimingStore
        Asked first; told what was measured.
    config : mapping of str to str
        ONNX Runtime's session configuration of single operators.
    charge : callable
        For an emulated device.
    """

    _aliases = True
    """Whether sessions of the device give a tensor another shape without copying it."""

    def __init__(
        self,
        graph: Graph,
        machine: _core.Machine,
        title: str,
        store: TimingStore,
        params: GpuProfilingParams | None = None,
        config: Mapping[str, str] = ON_DEVICE_ONLY,
        charge: ChargeOf = no_charge,
    ) -> None:
        self._graph, self._store = graph, store
        self._params = params or GpuProfilingParams()
        self._segments = SegmentProbe(machine, 1, self._params.probe)
        every = {**config, _FOLDER_KEY: str(graph.folder)}
        self._operators = OperatorProbe(self._segments, every, charge, self._params.operators)
        self._key = f"{title}|{machine_fingerprint()}"
        self._heaviest: list[tuple[int, Probed]] = []

    def task_cost(self, step: Step, signature: str) -> OperatorCost | None:
        """An operator's cost; None where the device cannot run it."""
        operator = self._operator(step)
        cost = self._known(signature)
        if cost is None:
            cost = self._measured(operator)
            self._remember(signature, cost)
        if cost.time.ns == _UNABLE:
            return None
        # What waits for its launches does not fill the device, and slows nothing.
        weight_ns = cost.time.ns - cost.launch_ns
        ranked = [*self._heaviest, (weight_ns, self._operators.segment(operator))]
        self._heaviest = sorted(ranked, key=lambda row: -row[0])[: self._params.heaviest]
        return cost

    def submit_ns(self) -> int:
        """What any segment takes besides its operators, the submitting thread included."""
        key = f"gpu submit|{self._key}"
        known = self._store.get(key)
        if known is None:
            known = Timing(self._operators.fixed_ns())
            self._store.put(key, known)
        return known.ns

    def slowdown(self, lanes: int) -> tuple[float, ...]:
        """Factor on service times with 1, 2, ... busy lanes, of this graph's heaviest operators.

        Returns
        -------
        tuple of float
            Empty for one lane, or where the device runs nothing of the graph.
        """
        if lanes == 1 or not self._heaviest:
            return ()
        rows = [
            [self._segments.crowded_ns(probed, busy) for busy in range(1, lanes + 1)]
            for _, probed in self._heaviest
        ]
        medians = (statistics.median(row[i] / max(1, row[0]) for row in rows) for i in range(lanes))
        return tuple(round(max(1.0, factor), 3) for factor in medians)

    def whole_model(self, inputs: Mapping[str, Any]) -> SegmentTimes:
        """Times of the whole model in one session.

        Raises
        ------
        ExecutionError
            If the device refuses it.
        """
        outputs = [self._graph.tensors[i].name for i in self._graph.outputs]
        names = [name for name in outputs if name not in self._graph.constant_outputs]
        values = initial_values(self._graph, inputs)
        probed = Probed(str(self._graph.model_path), values, names, level="all")
        return self._segments.times(probed)

    def _operator(self, step: Step) -> Operator:
        task = self._graph.tasks[step.task]
        outputs = [self._graph.tensors[i].name for i in task.outputs]
        waits = work_of(self._graph, task, step.seen).synchronisations > 0
        values = (self._graph.tensors[i] for i in (*task.inputs, *task.outputs))
        return Operator(
            task.op_type,
            step.model,
            step.inputs,
            outputs,
            made_bytes=sum(step.seen[name].size_bytes for name in outputs),
            is_single=task.is_control_flow,
            may_be_captured=not waits and not any(value.has_open_size for value in values),
            only_renames=self._aliases and is_alias(task),
        )

    def _measured(self, operator: Operator) -> OperatorCost:
        try:
            return self._operators.cost(operator)
        except ExecutionError:
            return UNABLE_COST

    def _known(self, signature: str) -> OperatorCost | None:
        keys = (f"{what}|{signature}|{self._key}" for what in _STORED)
        time, launch, captured = (self._store.get(key) for key in keys)
        if time is None or launch is None or captured is None:
            return None
        return OperatorCost(time, launch.ns, None if captured.ns == _UNABLE else captured.ns)

    def _remember(self, signature: str, cost: OperatorCost) -> None:
        captured = _UNABLE if cost.captured_ns is None else cost.captured_ns
        row = (cost.time, Timing(cost.launch_ns), Timing(captured))
        for what, timing in zip(_STORED, row, strict=True):
            self._store.put(f"{what}|{signature}|{self._key}", timing)
