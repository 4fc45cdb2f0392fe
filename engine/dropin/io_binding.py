"""``IOBinding``: inputs and outputs that are bound once, for queries that name neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surplus.engine.dropin.ort_device import require_host
from surplus.engine.dropin.ort_value import OrtValue, array_at, content_of, numpy_type
from surplus.engine.runtime.inputs import Array


class IOBinding:
    """What a session's queries read and write, by name. Not for several threads at once.

    Outputs are written by the engine and copied once into what is bound for them.

    Parameters
    ----------
    session : InferenceSession
        Whose inputs and outputs they are.
    input_names : sequence of str
        Its model's.

    Attributes
    ----------
    inputs : dict of str to array
        What a query reads.
    """

    def __init__(self, session: Any, input_names: Sequence[str]) -> None:
        self.session = session
        self._known = frozenset(input_names)
        self.inputs: dict[str, Array] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._answers: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Read an input from an array, as it is when a query runs.

        Raises
        ------
        RuntimeError
            If there is no such input.
        """
        if name not in self._known:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self.inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Read an input from memory of the program's, which it keeps."""
        require_host(device_type, device_id)
        self.bind_cpu_input(name, array_at(buffer_ptr, shape, numpy_type(element_type)))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Read an input from a value, as it is when a query runs."""
        self.bind_cpu_input(name, content_of(ortvalue))

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Return an output; into memory of the program's, if that is named, which it keeps.

        Raises
        ------
        ValueError
            If there is an address without a type or a shape.
        """
        require_host(device_type, device_id)
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError(
                "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
            )
        array = array_at(buffer_ptr, shape, numpy_type(element_type))
        self._outputs[name] = OrtValue(array)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Write an output into a value's memory."""
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Inputs lie in the host's memory: there is nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Outputs are there when a query has ended."""

    def get_outputs(self) -> list[OrtValue]:
        """The last query's, in the order in which they were bound."""
        return list(self._answers)

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """The same."""
        return list(self._answers)

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The last query's outputs, copied."""
        return [_copied(answer._content) for answer in self._answers]

    def clear_binding_inputs(self) -> None:
        """Forget what inputs are read from."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget which outputs are returned, and the last query's."""
        self._outputs.clear()
        self._answers = []

    @property
    def output_names(self) -> list[str]:
        """What is returned, in the order in which it was bound."""
        return list(self._outputs)

    def take(self, found: Mapping[str, Array]) -> None:
        """Keep a query's outputs, each where it was bound to."""
        self._answers = [_kept(name, found[name], into) for name, into in self._outputs.items()]


def _kept(name: str, content: Array, into: OrtValue | None) -> OrtValue:
    if into is None:
        return OrtValue(content)
    target = into._content
    if not isinstance(content, np.ndarray) or target.dtype != content.dtype:
        raise RuntimeError(f"Error in execution: output {name!r} is not of {target.dtype}")
    if target.shape != content.shape:
        raise RuntimeError(
            f"Error in execution: the OrtValue provided for output {name!r} has shape"
            f" {target.shape} but the computed output shape for this run is {content.shape}"
        )
    np.copyto(target, content)
    return into


def _copied(content: Array) -> Array:
    return content.copy() if isinstance(content, np.ndarray) else content
