"""A loaded model: queries in, arrays out, many in flight."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import onnx
from onnx import numpy_helper

from engine import _core
from engine.dfg.graph import Dim, Graph, ValueKind
from engine.errors import (
    CancelledError,
    DeadlineError,
    EngineError,
    ExecutionError,
    InputError,
)
from engine.runtime.blame import Blame, blame
from engine.runtime.busy_plan import BusyPlan, Prepared, SecondPlan, narrow_plan
from engine.runtime.causes import causes_of
from engine.runtime.completions import completions
from engine.runtime.device_loss import LossGuard, Recovery
from engine.runtime.future import Future as Future
from engine.runtime.inputs import (
    Array,
    IoSpec,
    check_names,
    checked_input,
    input_dtype,
    input_specs,
    output_specs,
)
from engine.runtime.lowering import computed_outputs, lower
from engine.runtime.measured import Traced, traced_query
from engine.segmentation.plan import Plan
from engine.values import from_value, to_value
from placement.timeline import Timeline

_NUMPY_TYPES = frozenset(
    elem_type
    for elem_type in onnx.TensorProto.DataType.values()
    if elem_type not in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING)
    and onnx.helper.tensor_dtype_to_np_dtype(elem_type).isbuiltin == 1
)


class Model:
    """A graph, its plan and the core's form of it. Thread-safe.

    Use as ``model.run({"image": array})``. Sessions and weights go with the last reference.
    While more queries overlap than there are lanes, each runs on a lane of its own
    (busy_plan.py), as far as ``second_plan`` allows; traced ones always follow ``plan``.
    After a device was lost, ``recovery`` says how queries go on (device_loss.py).
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        machine: _core.Machine,
        second_plan: SecondPlan = SecondPlan.SAME_BITS,
        recovery: Recovery | None = None,
    ) -> None:
        self.graph = graph
        defaults = _defaults(graph)
        self.inputs = input_specs(graph)
        self.outputs = output_specs(graph)
        self._output_names = tuple(spec.name for spec in self.outputs)
        self._dtypes = {spec.name: input_dtype(spec) for spec in self.inputs}
        self._defaults = {name: to_value(array) for name, array in defaults.items()}
        self._constants = _constants(graph)
        self._computed = computed_outputs(graph)
        self._second_plan = second_plan
        self._last_traced: Traced | _core.Recording | None = None
        self._adopt(plan, machine)
        self._guard = None if recovery is None else LossGuard(machine, recovery)

    def _adopt(self, plan: Plan, machine: _core.Machine) -> None:
        self.native = lower(self.graph, plan, machine)
        self.plan = plan
        plain_query = _plain_query(self.inputs, self.outputs, bool(self._constants))
        self._query = plain_query(self.native)
        self.lanes = {row["name"]: row["lanes"] for row in machine.stats()["devices"]}
        self._busy = self._busy_plan(machine, plain_query, self._second_plan)

    def _check_devices(self) -> None:
        """Go on as the user chose if a device is lost (device_loss.py)."""
        if self._guard is not None and self._guard.is_due:
            self._guard.recover(self.plan, self._adopt)

    def run(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        timeout: float | None = None,
        traced: bool = False,
    ) -> dict[str, Array]:
        """Answer one query in the calling thread and on the devices' lanes.

        Parameters
        ----------
        inputs : mapping of str to array
            By input name.
        outputs : sequence of str, optional
            Which outputs to return; all of them by default.
        timeout : float, optional
            Seconds after which the query is cancelled.
        traced : bool
            Keep its spans for ``timeline()`` and ``blame()``.

        Raises
        ------
        InputError
            If a name, type or shape does not fit.
        DeadlineError
            If the timeout passed.
        ExecutionError
            If a segment failed; other queries are not affected.
        """
        self._check_devices()
        if self._busy is None or traced:
            return self._run(inputs, outputs, timeout, traced, None)
        began_ns = time.monotonic_ns()
        answer = self._run(inputs, outputs, timeout, traced, self._busy.now())
        self._busy.answered(began_ns)
        return answer

    def _run(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        timeout: float | None,
        traced: bool,
        busy: Prepared | None,
    ) -> dict[str, Array]:
        query = self._query if busy is None else busy.query
        if query and outputs is None and timeout is None and type(inputs) is dict:
            answer = query.answer_traced(inputs) if traced else query.answer(inputs)
            if isinstance(answer, dict):
                return answer
            if isinstance(answer, tuple):
                result, self._last_traced = answer
                return result
            if answer is not None:
                _raise(answer.status, answer.error)
        moments = [time.monotonic_ns()]
        values = self._values(inputs, outputs)
        moments.append(time.monotonic_ns())
        try:
            native = self.native if busy is None else busy.native
            run = native.execute(values, -1.0 if timeout is None else timeout, traced)
        except TimeoutError as error:
            raise DeadlineError(f"query not done after {timeout} s") from error
        moments.append(time.monotonic_ns())
        result = self._finish(run, outputs)
        if traced:
            moments.append(time.monotonic_ns())
            self._last_traced = _core.Recording(run, moments)
        return result

    def submit(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        *,
        deadline_ns: int = 0,
        priority: int = 0,
        traced: bool = False,
    ) -> Future:
        """Start one query and return at once.

        Parameters
        ----------
        deadline_ns : int
            On ``time.monotonic_ns``'s clock; 0 is none. The query ends when it passes.
        priority : int
            Queries of a higher priority go first.
        """
        self._check_devices()
        busy = None if self._busy is None or traced else self._busy.now()
        query = self._query if busy is None else busy.query
        if query and outputs is None and not traced and type(inputs) is dict:
            started = query.submit(inputs, deadline_ns, priority)
            if started is not None:
                return Future(self, started, None)
        values = self._values(inputs, outputs)
        native = self.native if busy is None else busy.native
        run = native.submit(values, deadline_ns=deadline_ns, priority=priority, traced=traced)
        return Future(self, run, outputs)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        deadline_ns: int | None = None,
        priority: int = 0,
        look: Callable[[_core.Run], None] | None = None,
    ) -> dict[str, Array]:
        """``submit`` for an event loop: awaits without a thread; cancelling cancels the run.

        ``look`` is handed the run, traced, when it has ended well.
        """
        if self._guard is not None and self._guard.is_due:
            await asyncio.to_thread(self._guard.recover, self.plan, self._adopt)
        values = self._values(inputs, outputs)
        native = self._plan_now()
        run = await completions().wait(
            lambda queue, tag: native.submit(
                values,
                deadline_ns=deadline_ns or 0,
                priority=priority,
                traced=look is not None,
                completions=queue,
                tag=tag,
            )
        )
        if look is not None and run.status == "ok":
            look(run)
        return self._finish(run, outputs)

    def timeline(self) -> Timeline:
        """Spans of the last ``run(..., traced=True)``.

        Raises
        ------
        EngineError
            If no run was traced.
        """
        return self._traced().timeline

    def blame(self) -> Blame:
        """Where the time of the last ``run(..., traced=True)`` went, the caller's side included.

        Raises
        ------
        EngineError
            If no run was traced.
        """
        traced = self._traced()
        return blame(
            traced.timeline, lanes=self.lanes, causes=causes_of(self.plan), call=traced.call
        )

    def predicted_blame(self) -> Blame:
        """The same for the plan's prediction, which knows of no call and no dispatch."""
        return blame(self.plan.predicted, lanes=self.lanes, causes=causes_of(self.plan))

    def _traced(self) -> Traced:
        """The last traced run, made spans of on the first look: queries do not pay for that."""
        last = self._last_traced
        if last is None:
            raise EngineError("no traced run yet: call run(..., traced=True) first")
        if isinstance(last, Traced):
            return last
        found = traced_query(self.plan, last, self.lanes, last.moments)
        if self._last_traced is last:
            self._last_traced = found
        return found

    def _busy_plan(
        self,
        machine: _core.Machine,
        query: Callable[[_core.Plan], _core.Query | None],
        allowed: SecondPlan,
    ) -> BusyPlan | None:
        lanes = self.lanes[self.plan.devices[0]]
        plan = narrow_plan(self.graph, self.plan, lanes, allowed)
        if plan is None:
            return None
        return BusyPlan(self.graph, plan, machine, lanes, query)

    def _plan_now(self) -> _core.Plan:
        busy = None if self._busy is None else self._busy.now()
        return self.native if busy is None else busy.native

    def _values(
        self, inputs: Mapping[str, Array], outputs: Sequence[str] | None
    ) -> list[_core.Value | None]:
        if outputs is not None:
            for name in outputs:
                if name not in self._output_names:
                    raise InputError(
                        f"unknown output {name!r}; there are: {_list(self._output_names)}"
                    )
        check_names(self._dtypes, inputs)
        return [self._value(spec, inputs) for spec in self.inputs]

    def _value(self, spec: IoSpec, inputs: Mapping[str, Array]) -> _core.Value | None:
        name = spec.name
        array = inputs.get(name)
        # The common case first: this is on the path of every query.
        if (
            type(array) is np.ndarray
            and array.dtype == self._dtypes[name]
            and array.shape == spec.shape
        ):
            return to_value(array, spec.elem_type)
        if name not in inputs:
            if name in self._defaults:
                return self._defaults[name]
            if spec.optional:
                return None
            raise InputError(f"input {name!r} is missing")
        content = checked_input(spec, array)
        try:
            return to_value(content, spec.elem_type or None)
        except (TypeError, ValueError) as error:
            raise InputError(f"input {name!r}: {error}") from error

    def _finish(self, run: _core.Run, wanted: Sequence[str] | None) -> dict[str, Array]:
        if run.status != "ok":
            _raise(run.status, run.error)
        if wanted is None and self._query is not None:
            return self._query.outputs(run)
        values = dict(zip(self._computed, run.outputs(), strict=True))
        names = self._output_names if wanted is None else wanted
        return {
            name: self._constants[name] if name in self._constants else from_value(values[name])
            for name in names
        }


def _plain_query(
    inputs: Sequence[IoSpec], outputs: Sequence[IoSpec], has_constants: bool
) -> Callable[[_core.Plan], _core.Query | None]:
    """Makes the native path of ``run``, where all inputs and outputs are tensors that numpy has.

    Holds no model: one that holds itself would keep its sessions until the garbage is collected.
    """
    plain = all(
        s.kind is ValueKind.TENSOR and s.elem_type in _NUMPY_TYPES for s in (*inputs, *outputs)
    )
    ports = [(s.name, s.elem_type, _extents(s.shape)) for s in inputs]
    names = [s.name for s in outputs]

    def query(native: _core.Plan) -> _core.Query | None:
        if has_constants or not plain:
            return None
        return _core.Query(native, np.ndarray, ports, names)

    return query


def _extents(shape: tuple[Dim, ...] | None) -> list[int] | None:
    return None if shape is None else [d if isinstance(d, int) else -1 for d in shape]


def _raise(status: str, error: str) -> NoReturn:
    if status == "cancelled":
        raise CancelledError(error or "query cancelled")
    if status == "deadline":
        raise DeadlineError(error or "the query's deadline passed")
    raise ExecutionError(" ".join(error.split()))


def _list(names: Any) -> str:
    return ", ".join(sorted(names))


def _defaults(graph: Graph) -> dict[str, Array]:
    return _initializers(graph, set(graph.default_inputs))


def _constants(graph: Graph) -> dict[str, Array]:
    return _initializers(graph, set(graph.constant_outputs))


def _initializers(graph: Graph, names: set[str]) -> dict[str, Array]:
    if not names:
        return {}
    return {
        t.name: numpy_helper.to_array(t, str(graph.folder))
        for t in graph.model.graph.initializer
        if t.name in names
    }
