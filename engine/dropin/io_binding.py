"""``IOBinding``: inputs and outputs that are bound once, for queries that name neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from surplus.engine.dropin.ort_device import OrtDevice
from surplus.engine.dropin.ort_value import OrtValue, OrtValueVector
from surplus.engine.dropin.session_io_binding import SessionIOBinding
from surplus.engine.runtime.inputs import Array

if TYPE_CHECKING:
    from surplus.engine.dropin.session_facts import SessionFacts


class IOBinding:
    """What a session's queries read and write, by name. Not for several threads at once.

    Parameters
    ----------
    session : InferenceSession
        Whose inputs and outputs they are.
    """

    def __init__(self, session: SessionFacts) -> None:
        self._session = session._sess
        self._iobinding = SessionIOBinding(session._sess)

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Read an input from an array, as it is when a query runs.

        Raises
        ------
        RuntimeError
            If there is no such input.
        """
        self._iobinding.bind_input(name, arr_on_cpu)

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
        device = OrtDevice.make(device_type, device_id)
        self._iobinding.bind_input(name, device, element_type, shape, buffer_ptr)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Read an input from a value, as it is when a query runs."""
        self._iobinding.bind_ortvalue_input(name, ortvalue)

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
        device = OrtDevice.make(device_type, device_id)
        if buffer_ptr is not None and (element_type is None or shape is None):
            raise ValueError(
                "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
            )
        self._iobinding.bind_output(name, device, element_type, shape or (), buffer_ptr)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Write an output into a value's memory."""
        self._iobinding.bind_ortvalue_output(name, ortvalue)

    def synchronize_inputs(self) -> None:
        """Inputs lie in the host's memory: there is nothing to wait for."""

    def synchronize_outputs(self) -> None:
        """Outputs are there when a query has ended."""

    def get_outputs(self) -> list[OrtValue]:
        """The last query's, in the order in which they were bound."""
        return list(self._iobinding.get_outputs())

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The same."""
        return self._iobinding.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The last query's outputs, copied."""
        return self._iobinding.copy_outputs_to_cpu()

    def clear_binding_inputs(self) -> None:
        """Forget what inputs are read from."""
        self._iobinding.clear_binding_inputs()

    def clear_binding_outputs(self) -> None:
        """Forget which outputs are returned, and the last query's."""
        self._iobinding.clear_binding_outputs()
