"""A loaded model as its user sees it: queries in, arrays out, many in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn, Self, Unpack

from surplus.engine import _core
from surplus.engine.dfg.graph import Graph
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.inputs import Array, IoSpec, Outputs
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.runtime.query_times import (
    QueryOptions,
    checked_options,
    seconds,
    takes_query_options,
    urgency_of,
)
from surplus.engine.segmentation.plan import Plan
from surplus.placement.timeline import Timeline

if TYPE_CHECKING:
    from surplus.engine.explain.breakdown import Breakdown


_IN_PLACE = frozenset(("timeout_s", "traced"))
"""What a query says that need not be submitted."""


class Model:
    """A model that ``surplus.load`` made, or of a graph by a plan of one's own. Thread-safe.

    Use as ``model.run({"image": array})``. Sessions and weights go with ``close()``, at the end of
    a ``with``, or with the last reference.

    ``run``, ``submit`` and ``infer`` take the same:

    inputs : mapping of str to array
        By input name. ``run`` and ``infer`` read arrays in place until they return; ``submit``
        copies those that can be written to, so that they may change at once.
    outputs : sequence of str, optional
        Which outputs to return; all of them by default.
    timeout_s : float, optional
        Seconds from now after which the query is ended.
    deadline_s : float, optional
        Seconds from now when it is due: it goes before what is due later, and is ended when that
        has passed.
    deadline_ns : int, optional
        The same as a moment on ``time.monotonic_ns``'s clock.
    due_s : float, optional
        As ``deadline_s``, but a query that is late goes on, behind those that may be in time.
    priority : int, optional
        Of 32 bits. Queries of a higher priority go first.
    best_effort : bool, optional
        Whether it goes behind all that is not.
    traced : bool
        Keep its spans for ``timeline()`` and ``breakdown()``: of ``run`` and ``infer`` the
        model's, of ``submit`` the future's.

    What a query does not say of its urgency is as ``load`` was told (``deadline_s``, ``priority``,
    ``best_effort``). They raise ``surplus.InputError`` if a name, type or shape does not fit,
    ``surplus.DeadlineError`` if the query was ended for its time, ``surplus.RefusedError`` if it
    could not be in time and such queries are rejected, and ``surplus.ExecutionError`` if it failed;
    other queries are not affected.
    """

    def __init__(
        self,
        graph: Graph | PlannedModel,
        plan: Plan | None = None,
        machine: _core.Machine | None = None,
    ) -> None:
        if isinstance(graph, PlannedModel):
            self._planned = graph
        elif isinstance(graph, Graph) and plan is not None and machine is not None:
            self._planned = PlannedModel(graph, plan, machine)
        else:
            raise TypeError(f"surplus.load makes models, not Model({graph!r})")

    @property
    def inputs(self) -> tuple[IoSpec, ...]:
        """What it reads, in the model's order."""
        return self._planned.inputs

    @property
    def outputs(self) -> tuple[IoSpec, ...]:
        """What it answers, in the model's order."""
        return self._planned.outputs

    @property
    def plan(self) -> Plan:
        """What it runs: segments, where, and how long they are predicted to take."""
        return self._planned.plan

    @property
    def facts(self) -> Mapping[str, str]:
        """Whose kernels it runs with, how far its answers are from ONNX Runtime's, what is batched.

        As far as that was compared.
        """
        return self._planned.facts

    @property
    def warning(self) -> str:
        """What queries go on without, and why: a lost device, kernels, lanes, time; or empty."""
        return self._planned.warning

    @takes_query_options
    def run(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Outputs:
        """Answer one query in the calling thread and on the devices' lanes; see the class."""
        if not said:
            return self._planned.run(inputs, outputs)
        return self._run_as(inputs, outputs, said)

    @takes_query_options
    def submit(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Future:
        """Start one query and return at once; see the class."""
        if not said:
            return self._planned.submit(inputs, outputs)
        options = checked_options(said)
        traced = options.get("traced", False)
        return self._planned.submit(inputs, outputs, traced=traced, **urgency_of(options))

    @takes_query_options
    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        **said: Unpack[QueryOptions],
    ) -> Outputs:
        """Answer one query on an event loop, which needs no thread; see the class.

        Cancelling the task that awaits it cancels the query.
        """
        if not said:
            return await self._planned.infer(inputs, outputs)
        options = checked_options(said)
        look = self._planned.keep_trace if options.get("traced") else None
        return await self._planned.infer(inputs, outputs, look=look, **urgency_of(options))

    def _run_as(
        self, inputs: Mapping[str, Array], outputs: Sequence[str] | None, said: QueryOptions
    ) -> Outputs:
        options = checked_options(said)
        traced = options.get("traced", False)
        if options.keys() <= _IN_PLACE:
            timeout_s = seconds("timeout_s", options.get("timeout_s"))
            return self._planned.run(inputs, outputs, timeout_s, traced)
        future = self._planned.submit(inputs, outputs, traced=traced, **urgency_of(options))
        answer = future.result()
        if traced:
            self._planned.keep_trace(future.run, future._prepared)
        return answer

    def close(self) -> None:
        """Refuse queries from now on; sessions and weights go with the last that is in flight."""
        self._planned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def timeline(self) -> Timeline:
        """Spans of the last query that was traced.

        Raises
        ------
        EngineError
            If none was.
        """
        return self._planned.timeline()

    def breakdown(self) -> Breakdown:
        """Where the time of the last query that was traced went, the caller's side included.

        Raises
        ------
        EngineError
            If none was.
        """
        return self._planned.breakdown()

    @property
    def _description(self) -> str:
        """Its name, where it runs and by which plan."""
        return self._planned.description

    def __repr__(self) -> str:
        return f"<surplus.Model {self._description}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a model cannot be copied or pickled, its sessions are this process's: hand on its"
            " path, and load that where it is needed"
        )
