"""``SessionIOBinding``: what a session's queries read and write, as ``IOBinding._iobinding``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surplus.engine.dropin.ort_device import require_host_device
from surplus.engine.dropin.ort_value import (
    OrtValue,
    OrtValueVector,
    array_at,
    content_of,
    numpy_type,
)
from surplus.engine.runtime.inputs import Array

if TYPE_CHECKING:
    from surplus.engine.dropin.session_handle import SessionHandle


class SessionIOBinding:
    """Inputs and outputs by name, with the methods of ONNX Runtime's own handle of a binding.

    Not for several threads at once. Outputs are copied once into what is bound for them.

    Parameters
    ----------
    session : SessionHandle
        Whose inputs and outputs they are.

    Attributes
    ----------
    inputs : dict of str to array
        What a query reads.
    """

    def __init__(self, session: SessionHandle) -> None:
        self._known = frozenset(spec.name for spec in session.model.inputs)
        self.inputs: dict[str, Array] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._answers = OrtValueVector()

    def bind_input(
        self,
        name: str,
        source: Any,
        element_type: Any = None,
        shape: Sequence[int] = (),
        buffer_ptr: int | None = None,
    ) -> None:
        """Read an input from an array, as it is when a query runs; or, where ``source`` is a
        device, from memory of the program's, which it keeps.

        Raises
        ------
        RuntimeError
            If there is no such input.
        NotImplemented
            If the device has a memory of its own.
        """
        if buffer_ptr is not None:
            require_host_device(source)
            source = array_at(buffer_ptr, shape, numpy_type(element_type))
        if name not in self._known:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self.inputs[name] = source

    def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
        """Read an input from a value, as it is when a query runs."""
        self.bind_input(name, content_of(ortvalue))

    def bind_output(
        self,
        name: str,
        device: Any,
        element_type: Any = None,
        shape: Sequence[int] = (),
        buffer_ptr: int | None = None,
    ) -> None:
        """Return an output; into memory of the program's, if that is named, which it keeps."""
        require_host_device(device)
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        self._outputs[name] = OrtValue(array_at(buffer_ptr, shape, numpy_type(element_type)))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Write an output into a value's memory."""
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Inputs lie in the host's memory: there is nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Outputs are there when a query has ended."""

    def get_outputs(self) -> OrtValueVector:
        """The last query's, in the order in which they were bound."""
        return OrtValueVector(self._answers)

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The last query's outputs, copied."""
        return [_copied(answer._content) for answer in self._answers]

    def clear_binding_inputs(self) -> None:
        """Forget what inputs are read from."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget which outputs are returned, and the last query's."""
        self._outputs.clear()
        self._answers = OrtValueVector()

    @property
    def output_names(self) -> list[str]:
        """What is returned, in the order in which it was bound."""
        return list(self._outputs)

    def take(self, found: Mapping[str, Array]) -> None:
        """Keep a query's outputs, each where it was bound to."""
        kept = [_kept(name, found[name], into) for name, into in self._outputs.items()]
        self._answers = OrtValueVector(kept)


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
