"""Costs of operators on a plugin provider, of those only that it computes as the CPU does.

A provider is somebody else's library on somebody else's driver. An operator whose outputs depart
from the CPU's counts as one that the provider does not take, so that no plan puts it there.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError
from surplus.engine.native import open_session
from surplus.engine.profiling.gpu_profiler import (
    ON_DEVICE_ONLY,
    UNABLE_COST,
    GpuProfiler,
    GpuProfilingParams,
)
from surplus.engine.profiling.operator_probe import Operator, OperatorCost
from surplus.engine.profiling.segment_probe import Probed
from surplus.engine.profiling.timing_store import TimingStore
from surplus.engine.values import from_value

_log = logging.getLogger(__name__)

MOST_DIFFERENCE = 0.01
"""Of an output's largest magnitude; half precision stays below a tenth of it."""


class PluginProfiler(GpuProfiler):
    """As ``GpuProfiler``, after a look at what each operator answers."""

    _aliases = False  # nobody says so of every provider

    def __init__(
        self,
        graph: Graph,
        machine: _core.Machine,
        title: str,
        store: TimingStore,
        params: GpuProfilingParams | None = None,
        config: Mapping[str, str] = ON_DEVICE_ONLY,
    ) -> None:
        super().__init__(graph, machine, title, store, params, config)
        self._title = title

    def _measured(self, operator: Operator) -> OperatorCost:
        """Raises nothing: what does not run, or not as it should, is marked as not taken."""
        try:
            difference = self._difference(operator)
        except ExecutionError:
            return UNABLE_COST
        if difference > MOST_DIFFERENCE:
            _log.warning(
                "%s answers otherwise than the CPU, by %.2g of the largest magnitude: %s stays off",
                self._title,
                difference,
                operator.kind,
            )
            return UNABLE_COST
        return super()._measured(operator)

    def _difference(self, operator: Operator) -> float:
        probed = self._operators.segment(operator)
        answers = self._segments.outputs(probed)
        return largest_difference(answers, self._on_cpu(operator, probed))

    def _on_cpu(self, operator: Operator, probed: Probed) -> Sequence[_core.Value]:
        session = open_session(operator.model, weights_folder=self._graph.folder)
        return session.run(dict(operator.inputs), list(probed.outputs))


def largest_difference(
    answers: Sequence[_core.Value | None], expected: Sequence[_core.Value]
) -> float:
    """Largest difference of tensors over the largest magnitude of the one expected.

    Returns
    -------
    float
        Infinite where types or shapes differ, or what is not finite; 1 at least where integers do.
    """
    pairs = zip(answers, expected, strict=True)
    return max((_difference_of(a, b) for a, b in pairs), default=0.0)


def _difference_of(answer: _core.Value | None, expected: _core.Value) -> float:
    if answer is None or answer.kind != "tensor" or answer.elem_type != expected.elem_type:
        return float("inf")
    got, want = np.asarray(from_value(answer)), np.asarray(from_value(expected))
    if got.shape != want.shape:
        return float("inf")
    if want.dtype.kind in "biu":
        return float(not np.array_equal(got, want))
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return float("inf")
    if not np.isfinite(got[finite]).all():
        return float("inf")
    scale = np.abs(want[finite]).max(initial=0.0)
    return float(np.abs(got[finite] - want[finite]).max(initial=0.0) / (scale or 1.0))
