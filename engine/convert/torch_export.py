"""Torch's two ways to ONNX, tried in turn.

``dynamo`` (torch.export, then a translation of its graph) understands dynamic shapes and refuses
what depends on data. ``torchscript`` traces; torch no longer develops it, but it takes scripted
modules, versions of the operators before 18, and some modules that the other one cannot capture.
"""

from __future__ import annotations

import inspect
import logging
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from surplus.engine.convert.export_failure import failure_of
from surplus.engine.convert.input_spec import InputSpec
from surplus.engine.convert.quiet import quiet
from surplus.engine.convert.source import ExportRequest
from surplus.engine.errors import ConversionError

_log = logging.getLogger(__name__)

Exporter = Callable[[Any, Any, tuple[Any, ...], ExportRequest, Path], None]


def export(
    exporter: str,
    torch: Any,
    module: Any,
    example: tuple[Any, ...],
    request: ExportRequest,
    path: Path,
) -> list[str]:
    """Write ``path``.

    Parameters
    ----------
    exporter : str
        One of ``EXPORTERS``.
    example : tuple of tensors
        Arguments of ``forward``.

    Returns
    -------
    list of str
        What tracing has frozen.

    Raises
    ------
    ConversionError
        With the reason in one line.
    """
    try:
        with quiet() as caught:
            EXPORTERS[exporter](torch, module, example, request, path)
    except Exception as error:
        _log.info("%s failed", exporter, exc_info=error)
        raise failure_of(error) from error
    _require_opset(path, request.opset)
    return _frozen(caught, Path(torch.__file__).parent)


def _dynamo(
    torch: Any, module: Any, example: tuple[Any, ...], request: ExportRequest, path: Path
) -> None:
    shapes = _dynamic_shapes(module, request.specs)
    torch.onnx.export(
        module,
        example,
        str(path),
        dynamo=True,
        verbose=False,
        opset_version=request.opset,
        input_names=list(request.input_names),
        output_names=list(request.output_names),
        dynamic_shapes=shapes if any(spec.dynamic for spec in request.specs) else None,
    )


def _torchscript(
    torch: Any, module: Any, example: tuple[Any, ...], request: ExportRequest, path: Path
) -> None:
    axes = {n: s.dynamic for n, s in zip(request.input_names, request.specs, strict=True)}
    torch.onnx.export(
        module,
        example,
        str(path),
        dynamo=False,
        opset_version=request.opset,
        input_names=list(request.input_names),
        output_names=list(request.output_names),
        dynamic_axes={name: dynamic for name, dynamic in axes.items() if dynamic},
    )


EXPORTERS: Mapping[str, Exporter] = {"dynamo": _dynamo, "torchscript": _torchscript}
"""By name, in the order in which they are tried."""


def _dynamic_shapes(module: Any, specs: Sequence[InputSpec]) -> tuple[Any, ...]:
    """Names of dynamic axes in the structure of ``forward``'s arguments: ``*args`` is one tuple."""
    try:
        bound = inspect.signature(module.forward).bind(*specs).arguments
    except (TypeError, ValueError):
        return tuple(spec.dynamic for spec in specs)
    return tuple(
        tuple(spec.dynamic for spec in value) if isinstance(value, tuple) else value.dynamic
        for value in bound.values()
    )


def _require_opset(path: Path, opset: int | None) -> None:
    """Dynamo keeps 18 where it cannot convert down, with a warning only."""
    if opset is None:
        return
    imports = onnx.load(str(path), load_external_data=False).opset_import
    made = next(i.version for i in imports if i.domain in ("", "ai.onnx"))
    if made != opset:
        raise ConversionError(f"opset {opset} is not possible, the exporter made {made}")


def _frozen(caught: Sequence[warnings.WarningMessage], library: Path) -> list[str]:
    """Decisions in the user's code that tracing has frozen; many depend on shapes only."""
    found = {}
    for warning in caught:
        match = re.search(r"Converting a tensor to a Python (\w+)", str(warning.message))
        if match and not warning.filename.startswith(f"{library}/"):
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            found[place] = f"tracing froze the Python {match[1]} at {place}"
    return list(found.values())
