"""A model that ONNX Runtime is told how to compute: one session with these settings, on all lanes.

Its queries are scheduled as all others are. It is not measured, cut or compared: another plan would
compute otherwise. Models that nobody can make up inputs for are opened so, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from surplus.engine import _core
from surplus.engine.devices import after_fork
from surplus.engine.devices.after_fork import LeftBehind
from surplus.engine.dfg.graph import Graph
from surplus.engine.dropin.told_graph import told_graph, told_plan, with_map_keys
from surplus.engine.native import load_runtime, open_session
from surplus.engine.planning.load_params import LoadParams
from surplus.engine.planning.on_machine import machine_of
from surplus.engine.runtime.closed import ClosedPlan
from surplus.engine.runtime.direct_path import DirectPath
from surplus.engine.runtime.future import Future
from surplus.engine.runtime.inputs import Array
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import Prepared, devices_text
from surplus.engine.runtime.query_times import urgency_of

_CUSTOM_OPERATORS = "surplus.custom_operators."
"""Entries of the core's that name libraries (engine/core/ort/session.hpp)."""


_LONG_NS = 1_000_000
"""A run of less has nothing that a pool of threads could share out and gain."""


class ToldModel:
    """As ``surplus.Model`` for what sessions need. Thread-safe.

    Parameters
    ----------
    path : Path
        ONNX, or ONNX Runtime's own format.
    params : LoadParams
        Devices, the first of which computes; limits and urgency of its queries.
    level : str
        Of optimisation, by the core's names.
    config : mapping of str to str
        Entries of the session's configuration.
    custom_operators : sequence of str
        Paths of libraries.

    Raises
    ------
    RuntimeError
        If ONNX Runtime refuses the model; the message is its own.
    NotImplemented
        If an input or output is of a kind that has no form here.
    """

    def __init__(
        self,
        path: Path,
        params: LoadParams,
        level: str = "all",
        config: Mapping[str, str] | None = None,
        custom_operators: Sequence[str] = (),
    ) -> None:
        libraries = {f"{_CUSTOM_OPERATORS}{i}": each for i, each in enumerate(custom_operators)}
        settings = {**(config or {}), **libraries}
        load_runtime()
        width = min(params.first_width, params.specs()[0].lanes) or params.specs()[0].lanes
        # As long as it lives, the plan's session of the same settings is this one.
        whole = _core.WholeModel(
            str(path), width, level=level, config=settings, workers_asleep=True
        )
        whole.wake_workers_after(_LONG_NS)
        defaults = (
            open_session(str(path), level="disable_all", config=settings).overridable_info
            if whole.has_defaults
            else []
        )
        graph = told_graph(path, whole, defaults)
        self._name = graph.name
        self._ports = Ports(graph)
        self.inputs = self._ports.inputs
        self.outputs = with_map_keys(path, self._ports.outputs)
        machine = machine_of(params)
        native = _built(machine, graph, width, level, settings)
        lanes = {row["name"]: row["lanes"] for row in machine.stats()["devices"]}
        plan = told_plan(graph, params, width)
        self._prepared = Prepared(plan, machine, native, self._ports.query(native), lanes)
        self._direct = DirectPath(self._ports)
        self._guard: LeftBehind | None = None
        native.limit_time(params.query_limit_ns())
        params.urgency().of(native)
        after_fork.watch(self)

    @property
    def native(self) -> _core.Plan:
        """The core's form of its plan."""
        return self._prepared.native

    @property
    def _description(self) -> str:
        """Its name and where it runs; for who prints it."""
        state = "closed" if isinstance(self._prepared.native, ClosedPlan) else "one session"
        return f"{self._name!r} on {devices_text(self._prepared.lanes)}: {state}"

    def close(self) -> None:
        """Refuse queries from now on; the session goes with the last that is in flight."""
        closed = cast("_core.Plan", ClosedPlan(self._name))
        self._prepared = self._prepared._replace(native=closed, query=None)

    def leave_behind(self) -> None:
        """Refuse queries from now on, in a forked child (after_fork.py)."""
        self._guard = LeftBehind()

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Answer one query; raises as ``Model.run``."""
        if self._guard is not None:
            self._guard.recover()
        return self._direct.answer(self._prepared, inputs, None, None, False)

    def submit(
        self,
        inputs: Mapping[str, Array],
        *,
        due_s: float | None = None,
        priority: int | None = None,
        best_effort: bool | None = None,
        traced: bool = False,
    ) -> Future:
        """Start one query; arguments are ``Model.submit``'s."""
        urgency = urgency_of({"due_s": due_s, "priority": priority, "best_effort": best_effort})
        if self._guard is not None:
            self._guard.recover()
        values = self._ports.kept_values(inputs)
        run = self._prepared.native.submit(values, traced=traced, **urgency)
        return Future(self._ports, self._prepared, run, None)


def _built(
    machine: _core.Machine, graph: Graph, width: int, level: str, settings: Mapping[str, str]
) -> _core.Plan:
    builder = _core.PlanBuilder(machine)
    reads = [(tensor.name, builder.add_value(tensor.name)) for tensor in graph.summary.inputs]
    makes = [(tensor.name, builder.add_value(tensor.name)) for tensor in graph.summary.outputs]
    path = str(graph.model_path)
    builder.add_session(
        graph.name, 0, path, reads, makes, width=width, level=level, config=dict(settings)
    )
    builder.set_inputs([value for _, value in reads])
    builder.set_outputs([value for _, value in makes])
    return builder.build()
