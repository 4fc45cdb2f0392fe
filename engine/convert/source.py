"""What is converted, as the converter sees it; ``torch_source.py`` is the one implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from surplus.engine.convert.input_spec import InputSpec
from surplus.engine.errors import ConversionError

Array = np.ndarray[Any, Any]


class ForwardError(Exception):
    """The module failed on some inputs; the message is its own, in one line."""


class DecidesError(ConversionError):
    """The module decides by its data, and the exporter does not freeze that."""


class FinalError(ConversionError):
    """Another exporter must not be tried: it would hide what is wrong rather than mend it."""


@dataclass(frozen=True)
class ExportRequest:
    """How to export.

    Parameters
    ----------
    specs : sequence of InputSpec
        Inputs in the order of the module's arguments, to be called ``input_names`` in the file.
    inputs : mapping of str to array
        An example of each, by the name of its spec.
    opset : int or None
        Version of the standard operators; None: the exporter's own choice.
    """

    specs: Sequence[InputSpec]
    inputs: Mapping[str, Array]
    input_names: Sequence[str]
    output_names: Sequence[str]
    opset: int | None


class Source(Protocol):
    """A module that answers and that can be written as ONNX."""

    @property
    def exporters(self) -> Sequence[str]:
        """Ways to write it, the best first."""

    def output_names(self, inputs: Mapping[str, Array]) -> list[str]:
        """Names for the outputs, from the structure of what ``forward`` returns.

        Raises
        ------
        ForwardError
            If it fails.
        ConversionError
            If it returns what ONNX has no form for.
        """

    def answer(self, inputs: Mapping[str, Array]) -> list[Array]:
        """The outputs for inputs in the order of ``forward``'s arguments.

        Raises
        ------
        ForwardError
            If it fails.
        """

    def export(self, exporter: str, request: ExportRequest, path: Path) -> list[str]:
        """Write an ONNX file; its weights may lie beside it.

        Returns
        -------
        list of str
            What the user should know about it.

        Raises
        ------
        ConversionError
            Naming what has no ONNX form.
        """
