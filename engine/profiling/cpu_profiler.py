"""Measures service times on this machine's CPU, each signature and width once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from surplus.engine import _core
from surplus.engine.devices.host import machine_fingerprint
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import ExecutionError, one_line
from surplus.engine.native import open_session
from surplus.engine.profiling.calibrate import Step, initial_values
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.profiling.timing import Timing
from surplus.engine.profiling.timing_store import TimingStore
from surplus.engine.profiling.work import is_alias
from surplus.engine.values import to_value

_OPERATOR_NS = 150
"""What a trivial operator costs within a session; the rest of a one-operator session's time is the
session's own (0.65 microseconds where both were measured)."""

OVERHEAD_TRIES = 16
"""How often the session's own time is measured. The least counts: it is taken from every operator's
time, and a slow moment of the machine would make all small operators look free."""


@dataclass(frozen=True)
class ProfilingParams:
    """How long to measure.

    Parameters
    ----------
    min_repeats, max_repeats : int
        Of one task at one width.
    budget_ns : int
        Enough for one task, once it was repeated ``min_repeats`` times.
    whole_budget_ns : int
        The same for the whole model.
    long_ns : int
        What takes so long is not repeated: a machine's noise is milliseconds.
    """

    min_repeats: int = 3
    max_repeats: int = 200
    budget_ns: int = 5_000_000
    whole_budget_ns: int = 300_000_000
    long_ns: int = 2_000_000_000

    def __post_init__(self) -> None:
        if not 1 <= self.min_repeats <= self.max_repeats:
            raise ValueError(
                f"repeats must satisfy 1 <= {self.min_repeats=} <= {self.max_repeats=}"
            )
        if self.budget_ns < 1 or self.whole_budget_ns < 1:
            raise ValueError("budgets must be >= 1 ns")


Timer = Callable[[_core.Session, Mapping[str, _core.Value], int, int, int], list[int]]
"""(session, inputs, repeats, budget_ns, warm-up runs) -> nanoseconds of each repeat, one at
least."""


def core_timer(
    session: _core.Session,
    inputs: Mapping[str, _core.Value],
    repeats: int,
    budget_ns: int,
    warmup: int,
) -> list[int]:
    """Repeats in the native core."""
    return session.time(dict(inputs), repeats, budget_ns, warmup)


class CpuProfiler:
    """Times of one graph's tasks.

    Parameters
    ----------
    store : TimingStore
        Asked first; told what was measured.
    timer : Timer
        Measures; injected by tests.
    watch : Watch, optional
        Says what others took of the cores meanwhile. What was measured on a disturbed machine is
        measured again when it is found on a quiet one. Without it the machine counts as quiet.
    """

    def __init__(
        self,
        graph: Graph,
        store: TimingStore,
        params: ProfilingParams,
        timer: Timer = core_timer,
        watch: Watch | None = None,
    ) -> None:
        self._graph = graph
        self._store = store
        self._params = params
        self._timer = timer
        self._watch = watch
        self._fingerprint = machine_fingerprint()
        self._found: dict[str, Timing] = {}
        overhead = self._remembered("least session overhead", 1, self._trivial)
        self.session_overhead_ns = max(0, overhead.ns - _OPERATOR_NS)

    def task_time(self, step: Step, signature: str, width: int) -> Timing:
        """Time of a task without the session around it, as a part of a larger session has it.

        What only renames its input (Reshape) is not measured: within a session it copies
        nothing, alone it would.
        """
        if is_alias(self._graph.tasks[step.task]):
            return Timing(_OPERATOR_NS)

        def measure() -> Timing:
            budget_ns = self._params.budget_ns
            if width == 1:
                return self._measure(step.session, step.inputs, budget_ns, warmup=0)
            return self._measure(self._open(step.model, width), step.inputs, budget_ns)

        timing = self._remembered(signature, width, measure)
        return timing.less(self.session_overhead_ns, _OPERATOR_NS)

    def whole_model_time(self, inputs: Mapping[str, Any], width: int) -> Timing:
        """Time of the whole model in one session."""
        values = initial_values(self._graph, inputs)
        shapes = sorted((name, value.kind, _shape(value)) for name, value in values.items())
        key = hashlib.sha256(repr((self._graph.source_hash, shapes)).encode()).hexdigest()

        def measure() -> Timing:
            session = self._open(str(self._graph.model_path), width)
            feed = {name: values[name] for name in session.input_names if name in values}
            return self._measure(session, feed, self._params.whole_budget_ns)

        return self._remembered(f"model {key}", width, measure)

    def _remembered(self, what: str, width: int, measure: Callable[[], Timing]) -> Timing:
        """A time of this graph; whether one that is stored holds is looked at once for all."""
        key = f"{what}|cpu|{width}|{self._fingerprint}"
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._stored_or_measured(key, measure)
        return found

    def _stored_or_measured(self, key: str, measure: Callable[[], Timing]) -> Timing:
        known = self._store.get(key)
        if known is None or (self._store.is_provisional(key) and self._is_quiet_since()):
            began_ns = time.monotonic_ns()
            known = measure()
            self._store.put(key, known, provisional=not self._is_quiet_since(began_ns))
        return known

    def _is_quiet_since(self, time_ns: int | None = None) -> bool:
        """Whether nobody took the cores since then; lately, if no time is given."""
        if self._watch is None:
            return True
        return self._watch.lately(time_ns or time.monotonic_ns()).is_quiet

    def _measure(
        self,
        session: _core.Session,
        inputs: Mapping[str, _core.Value],
        budget_ns: int,
        warmup: int = 1,
    ) -> Timing:
        params = self._params
        try:
            samples = self._timer(session, inputs, params.max_repeats, budget_ns, warmup)
            missing = params.min_repeats - len(samples)
            if missing > 0 and samples[0] < params.long_ns:
                samples += self._timer(session, inputs, missing, _UNLIMITED_NS, 0)
        except RuntimeError as error:
            raise ExecutionError(f"measuring failed: {one_line(error)}") from error
        return Timing.of(samples)

    def _open(self, model: str | bytes, width: int) -> _core.Session:
        try:
            return open_session(model, width=width, weights_folder=self._graph.folder)
        except RuntimeError as error:
            raise ExecutionError(f"measuring failed: {one_line(error)}") from error

    def _trivial(self) -> Timing:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("Neg", ["x"], ["y"])],
            "overhead",
            [value("x", TensorProto.FLOAT, [1])],
            [value("y", TensorProto.FLOAT, [1])],
        )
        model: onnx.ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        )
        session = self._open(model.SerializeToString(), 1)
        feed = {"x": to_value(np.ones(1, np.float32), TensorProto.FLOAT)}
        tries = (
            self._measure(session, feed, self._params.budget_ns) for _ in range(OVERHEAD_TRIES)
        )
        return min(tries, key=lambda timing: timing.ns)


_UNLIMITED_NS = 1 << 62


def _shape(value: _core.Value) -> tuple[int, ...]:
    return tuple(value.shape) if value.kind == "tensor" else ()
