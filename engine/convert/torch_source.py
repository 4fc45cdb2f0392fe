"""A torch module as a source: numpy in, numpy out."""

from __future__ import annotations

import inspect
import logging
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from surplus.engine.convert.input_spec import InputSpec
from surplus.engine.convert.output_tree import flatten
from surplus.engine.convert.source import Array, ExportRequest, ForwardError
from surplus.engine.convert.target import place, typed_line
from surplus.engine.convert.torch_export import EXPORTERS, export
from surplus.engine.errors import ConversionError

_log = logging.getLogger(__name__)

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class TorchSource:
    """A module in evaluation mode, on the CPU.

    Parameters
    ----------
    torch : module
        The library.
    module : torch.nn.Module
        What is converted.

    Raises
    ------
    ConversionError
        If it cannot be brought to the CPU.
    """

    def __init__(self, torch: Any, module: Any) -> None:
        self._torch = torch
        try:
            self._module = module.eval().cpu()
        except Exception as error:
            raise ConversionError(
                f"the module does not move to the CPU: {typed_line(error)}"
            ) from error

    def check_arguments(self, specs: Sequence[InputSpec]) -> None:
        """Check that ``forward`` takes as many inputs as there are.

        Raises
        ------
        ConversionError
            Naming its arguments.
        """
        try:
            signature = inspect.signature(self._module.forward)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*specs)
        except TypeError as error:
            arguments = ", ".join(str(p) for p in signature.parameters.values())
            raise ConversionError(
                f"forward({arguments}) does not take {len(specs)} --input: {error}"
            ) from error

    def output_names(self, inputs: Mapping[str, Array]) -> list[str]:
        """As ``Source.output_names``."""
        return [name for name, _ in self._flat(inputs)]

    def answer(self, inputs: Mapping[str, Array]) -> list[Array]:
        """As ``Source.answer``."""
        return [self._array(tensor) for _, tensor in self._flat(inputs)]

    @property
    def exporters(self) -> Sequence[str]:
        """As ``Source.exporters``."""
        return tuple(EXPORTERS)

    def export(self, exporter: str, request: ExportRequest, path: Path) -> list[str]:
        """As ``Source.export``."""
        example = tuple(self._tensor(array) for array in request.inputs.values())
        return export(exporter, self._torch, self._module, example, request, path)

    def _flat(self, inputs: Mapping[str, Array]) -> list[tuple[str, Any]]:
        tensors = [self._tensor(array) for array in inputs.values()]
        try:
            returned = self._called(tensors)
        except Exception as error:
            _log.info("forward failed", exc_info=error)
            found = place(error, [Path(self._torch.__file__).parent])
            raise ForwardError(f"fails{found}: {typed_line(error)}") from error
        return flatten(returned, self._torch.Tensor)

    def _called(self, tensors: list[Any]) -> Any:
        # What the module prints must not end up between our JSON.
        with ExitStack() as stack:
            stack.enter_context(self._torch.no_grad())
            stack.enter_context(redirect_stdout(sys.stderr))
            stack.enter_context(warnings.catch_warnings(action="ignore"))
            return self._module(*tensors)

    def _tensor(self, array: Array) -> Any:
        # A copy: modules may write into their inputs.
        if array.dtype == _BFLOAT16:
            bits = self._torch.from_numpy(array.view(np.int16).copy())
            return bits.view(self._torch.bfloat16)
        return self._torch.from_numpy(array.copy())

    def _array(self, tensor: Any) -> Array:
        plain = tensor.detach().cpu().contiguous()
        if plain.dtype == self._torch.bfloat16:
            bits: Array = plain.view(self._torch.int16).numpy()
            return bits.view(_BFLOAT16)
        # A copy: the next answer may be written into the same memory.
        return np.array(plain.numpy())
