"""What goes into a model and comes out of it: arrays by name to the core's values, and back."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from surplus.engine import _core
from surplus.engine.dfg.graph import Dim, Graph, ValueKind
from surplus.engine.element_type import ElementType
from surplus.engine.errors import (
    CancelledError,
    DeadlineError,
    EngineError,
    ExecutionError,
    InputError,
    MemoryLimitError,
    RefusedError,
    TurnedAwayError,
)
from surplus.engine.runtime.inputs import (
    Array,
    IoSpec,
    check_mapping,
    check_names,
    checked_input,
    input_specs,
    is_empty,
    output_specs,
    unchanging,
)
from surplus.engine.runtime.lowering import computed_outputs
from surplus.engine.runtime.stack_use import StackUse
from surplus.engine.runtime.urgency import Urgency
from surplus.engine.values import NUMPY_TYPES, from_value, to_value

if TYPE_CHECKING:
    from surplus.engine.trial.empty_inputs import EmptyInputs

_PARTS = (ValueKind.SEQUENCE, ValueKind.MAP)


class Ports:
    """Inputs and outputs of one graph, whatever its plan. Thread-safe."""

    def __init__(self, graph: Graph) -> None:
        self.name = graph.name
        self.inputs = input_specs(graph)
        self.outputs = output_specs(graph)
        self._output_names = tuple(spec.name for spec in self.outputs)
        self._dtypes = {spec.name: spec.dtype for spec in self.inputs}
        defaults = _initializers(graph, set(graph.default_inputs))
        self._defaults = {name: to_value(array) for name, array in defaults.items()}
        self._constants = _initializers(graph, set(graph.constant_outputs))
        self._computed = computed_outputs(graph)
        self.is_bounded = not graph.summary.has_open_work
        """Whether the sizes of its inputs alone decide how long a query runs."""
        self._zip_maps = {zip_map.output: zip_map for zip_map in graph.summary.zip_maps}
        self._files = graph.model_path, graph.folder if graph.source_hash else None
        self._empty: EmptyInputs | None = None
        self.time_limit_ns = 0
        """How long the kernels of a query may take, in plans that are prepared from now on."""
        self.urgency = Urgency()
        """What queries are, in plans that are prepared from now on."""
        self.share = _core.FairShare()
        """What all plans of the model were given of the lanes."""
        self.label = f"{graph.name} (being tried)"
        """What recordings call plans that are prepared from now on; until a load has ended, so."""
        self.serves = False
        """Whether their runs count as queries of that; else they are measurements."""
        self.stacks = StackUse()
        """Which of them may be answered together, in plans that are prepared from now on."""
        self.room: _core.WaitingRoom | None = None
        """Where they wait before lanes get them, in plans that are prepared from now on."""

    def probe_empty_inputs(self) -> None:
        """Run queries without elements in a child first (``LoadParams.crash_probe``)."""
        from surplus.engine.trial.empty_inputs import EmptyInputs  # a program asks for none

        self._empty = EmptyInputs(*self._files)

    @property
    def probes_empty(self) -> bool:
        """Whether that is done."""
        return self._empty is not None

    def values(
        self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> list[_core.Value | None]:
        """The core's values of a query's inputs, in the model's order; None for absent optionals.

        Raises
        ------
        InputError
            If a name, type or shape does not fit, ``outputs`` names what is none, or a dimension
            is empty where this ends processes (engine/trial/empty_inputs.py).
        """
        check_mapping(self.inputs, inputs)
        if isinstance(outputs, str):
            raise InputError(f"outputs must be a sequence of names, as [{outputs!r}]")
        for name in outputs or ():
            if name not in self._output_names:
                known = ", ".join(sorted(self._output_names))
                raise InputError(f"unknown output {name!r}; there are: {known}")
        check_names(self._dtypes, inputs)
        empty: dict[str, Array] = {}
        values = [self._value(spec, inputs, empty) for spec in self.inputs]
        if empty and self._empty is not None:
            given = zip(self.inputs, values, strict=True)
            self._empty.check(
                empty, lambda: {spec.name: from_value(v) for spec, v in given if v is not None}
            )
        return values

    def kept_values(
        self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None
    ) -> list[_core.Value | None]:
        """``values`` that stay as they are when the caller changes its arrays; raises the same."""
        check_mapping(self.inputs, inputs)
        kept = {name: unchanging(content) for name, content in inputs.items()}
        return self.values(kept, outputs)

    def answer(
        self, run: _core.Run, wanted: Sequence[str] | None, query: _core.Query | None
    ) -> dict[str, Array]:
        """The outputs of a run that is done: those wanted, or all.

        Parameters
        ----------
        query : _core.Query, optional
            The quick way, where the model has one.

        Raises
        ------
        ExecutionError, CancelledError, DeadlineError
            If it ended otherwise than well.
        """
        if run.status != "ok":
            raise_for(run)
        if wanted is None and query is not None:
            try:
                return query.outputs(run)
            except ValueError as error:  # as DirectPath
                raise ExecutionError(str(error)) from error
        return self.arrays(dict(zip(self._computed, run.outputs(), strict=True)), wanted)

    def arrays(
        self, values: Mapping[str, _core.Value | None], wanted: Sequence[str] | None = None
    ) -> dict[str, Array]:
        """Outputs by name, those wanted or all, from the values of what is computed of them.

        They belong to the caller: constants and inputs that are outputs are copied.
        """
        names = self._output_names if wanted is None else wanted
        return {
            name: _copied(self._constants[name])
            if name in self._constants
            else self._array(name, values)
            for name in names
        }

    def query(self, native: _core.Plan) -> _core.Query | None:
        """The native path of a plan of this graph.

        None unless all inputs, and outputs that are tensors, are of types that numpy has, or
        strings.
        """
        plain = all(_is_plain(s) for s in self.inputs)
        if self._constants or not plain or any(not _is_plain(s, _PARTS) for s in self.outputs):
            return None
        inputs = [(s.name, s.elem_type, _extents(s.shape)) for s in self.inputs]
        zips = {
            self._output_names.index(name): (list(zip_map.keys), list(zip_map.columns))
            for name, zip_map in self._zip_maps.items()
        }
        return _core.Query(native, np.ndarray, inputs, self._output_names, from_value, zips)

    @property
    def are_computed_tensors(self) -> bool:
        """Whether all inputs and outputs are tensors, and a run gives all outputs."""
        kinds = {spec.kind for spec in (*self.inputs, *self.outputs)}
        return kinds == {ValueKind.TENSOR} and not self._constants and not self._zip_maps

    def _array(self, name: str, values: Mapping[str, _core.Value | None]) -> Array:
        value, zip_map = values[name], self._zip_maps.get(name)
        if zip_map is None or value is None:
            found = from_value(value)
            return _copied(found) if name in self._dtypes else found
        try:
            return zip_map.dicts(value)
        except ValueError as error:
            raise ExecutionError(str(error)) from error

    def _value(
        self, spec: IoSpec, inputs: Mapping[str, Array], empty: dict[str, Array]
    ) -> _core.Value | None:
        """The input's value; content of no elements, where the model leaves that open, is noted."""
        name = spec.name
        array = inputs.get(name)
        # The common case first: this is on the path of every query.
        if not (
            type(array) is np.ndarray
            and array.dtype == self._dtypes[name]
            and array.shape == spec.shape
        ):
            if name not in inputs:
                if name in self._defaults:
                    return self._defaults[name]
                if spec.optional:
                    return None
                raise InputError(f"input {name!r} is missing")
            array = checked_input(spec, array)
            if is_empty(array):
                empty[name] = array
        try:
            return to_value(array, spec.elem_type or None)
        except (TypeError, ValueError) as error:
            raise InputError(f"input {name!r}: {error}") from error


def _copied(content: Array) -> Array:
    return content.copy() if isinstance(content, np.ndarray) else content


def raise_for(run: _core.Run) -> NoReturn:
    """Raise what a run that did not end well ended with.

    A daemon thread whose query is cancelled since the process ends is to end without a word.
    """
    if run.status == "cancelled" and _core.refuses_calls():
        raise SystemExit
    failure = failure_of(run)
    assert failure is not None, "it did not end well"
    raise failure


def raise_closed(error: RuntimeError) -> NoReturn:
    """What the core's refusal of a query is to its user; a daemon thread ends with its process."""
    if _core.refuses_calls():
        raise SystemExit from error
    raise ExecutionError(str(error)) from error


def failure_of(run: _core.Run) -> EngineError | None:
    """What a run that is done ended with; None if it ended well."""
    if run.status == "ok":
        return None
    if run.status == "cancelled":
        return CancelledError(run.error or "query cancelled")
    if run.status == "deadline":
        return DeadlineError(run.error or "the query's deadline passed")
    if run.status == "refused":
        return RefusedError(run.error, run.refused_by_ns)
    if run.status == "turned away":
        return TurnedAwayError(run.error)
    if run.error_code == _core.MEMORY_REFUSED:
        return MemoryLimitError(" ".join(run.error.split()))
    error = ExecutionError(" ".join(run.error.split()))
    error.status = run.error_code
    return error


def _is_plain(spec: IoSpec, others: Container[ValueKind] = ()) -> bool:
    """Whether the core knows it as an array, or it is of one of the other kinds."""
    if spec.kind is not ValueKind.TENSOR:
        return spec.kind in others
    return spec.elem_type in NUMPY_TYPES or spec.elem_type == ElementType.STRING


def _extents(shape: tuple[Dim, ...] | None) -> list[int] | None:
    return None if shape is None else [d if isinstance(d, int) else -1 for d in shape]


def _initializers(graph: Graph, names: set[str]) -> dict[str, Array]:
    if not names:
        return {}
    from onnx import numpy_helper  # few models need it, and a stored plan is opened without

    return {
        t.name: numpy_helper.to_array(t, str(graph.folder))
        for t in graph.model.graph.initializer
        if t.name in names
    }
