"""A query's way in the thread that asks, which helps to run it: ``Model.run``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from surplus.engine import _core
from surplus.engine.errors import DeadlineError, EngineError, ExecutionError
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.ports import Ports, raise_for
from surplus.engine.runtime.prepared import Prepared

if TYPE_CHECKING:
    from surplus.engine.runtime.traced_run import TracedRun


class DirectPath:
    """Answers queries of one model in their callers' threads, and keeps the last trace.

    Thread-safe: of queries that are traced at the same time, the last to end is kept.
    """

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._last_traced: TracedRun | None = None

    def answer(
        self,
        prepared: Prepared,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        timeout_s: float | None,
        traced: bool,
        due_ns: int = 0,
    ) -> dict[str, Array]:
        """Run one query; parameters and what it raises are those of ``Model.run``.

        Parameters
        ----------
        prepared : Prepared
            The plan to follow.
        timeout_s : float, optional
            Seconds.

        Raises
        ------
        RuntimeError
            If its machine was closed before the query was submitted.
        """
        query = prepared.query
        if query and outputs is None and timeout_s is None and type(inputs) is dict:
            try:
                ask = query.answer_traced if traced else query.answer
                answer = ask(inputs, due_ns)
            except ValueError as error:  # of rows that are no dicts of the model's labels
                raise ExecutionError(str(error)) from error
            if isinstance(answer, dict):
                return answer
            if isinstance(answer, tuple):
                result, recording = answer
                self.keep_trace(prepared, recording)
                return result
            if answer is not None:
                raise_for(answer)
        return self._answer_carefully(prepared, inputs, outputs, timeout_s, traced, due_ns)

    def _answer_carefully(
        self,
        prepared: Prepared,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        timeout_s: float | None,
        traced: bool,
        due_ns: int,
    ) -> dict[str, Array]:
        """The path of what is not plain; says what is wrong with inputs."""
        moments = [time.monotonic_ns()]
        values = self._ports.values(inputs, outputs)
        moments.append(time.monotonic_ns())
        try:
            limit_s = -1.0 if timeout_s is None else timeout_s
            run = prepared.native.execute(values, limit_s, traced, due_ns)
        except TimeoutError as error:
            raise DeadlineError(f"query not done after {timeout_s} s") from error
        moments.append(time.monotonic_ns())
        result = self._ports.answer(run, outputs, prepared.query)
        if traced:
            moments.append(time.monotonic_ns())
            self.keep_trace(prepared, _core.Recording(run, moments))
        return result

    def keep_trace(self, prepared: Prepared, recording: _core.Recording) -> None:
        """Have ``last_traced`` be this one."""
        from surplus.engine.runtime.traced_run import TracedRun  # with all that reads traces

        plan, lanes = prepared.plan, prepared.lanes
        self._last_traced = TracedRun(plan, lanes, recording, recording.moments)

    @property
    def last_traced(self) -> TracedRun:
        """The last query that was traced and ended well.

        Raises
        ------
        EngineError
            If there is none.
        """
        if self._last_traced is None:
            raise EngineError("no traced run yet: call run(..., traced=True) first")
        return self._last_traced
