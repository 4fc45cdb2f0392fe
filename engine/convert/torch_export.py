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

from engine.convert.export_failure import Failure, failure_of
from engine.convert.input_spec import InputSpec
from engine.convert.quiet import quiet
from engine.convert.source import Exported, ExportRequest
from engine.errors import ConversionError

_log = logging.getLogger(__name__)

Exporter = Callable[[Any, Any, tuple[Any, ...], ExportRequest, Path], None]


def export(
    torch: Any, module: Any, example: tuple[Any, ...], request: ExportRequest, path: Path
) -> Exported:
    """Write ``path`` by the first exporter that succeeds.

    Parameters
    ----------
    example : tuple of tensors
        Arguments of ``forward``.

    Raises
    ------
    ConversionError
        With the reason of the first exporter that was tried.
    """
    names = list(EXPORTERS) if request.exporter == "auto" else [request.exporter]
    failures: list[Failure] = []
    for name in names:
        try:
            with quiet() as caught:
                EXPORTERS[name](torch, module, example, request, path)
            _require_opset(path, request.opset)
            return Exported(name, (*_tried(names, failures), *_frozen(caught)))
        except Exception as error:
            _log.info("%s failed", name, exc_info=error)
            failures.append(failure_of(error))
        if failures[-1].final:
            break
    raise ConversionError(f"cannot be exported: {_reasons(names, failures)}")


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


def _frozen(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Decisions that tracing has frozen; most of them depend on shapes only."""
    found = {}
    for warning in caught:
        match = re.search(r"Converting a tensor to a Python (\w+)", str(warning.message))
        if match:
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            found[place] = f"tracing froze the Python {match[1]} at {place}"
    return list(found.values())


def _tried(names: Sequence[str], failures: Sequence[Failure]) -> list[str]:
    pairs = zip(names, failures, strict=False)
    return [f"{name} could not: {failure.reason}" for name, failure in pairs]


def _reasons(names: Sequence[str], failures: Sequence[Failure]) -> str:
    distinct = dict.fromkeys(failure.reason for failure in failures)
    if len(distinct) == 1:
        return next(iter(distinct))
    pairs = zip(names, failures, strict=False)
    return "; ".join(f"{failure.reason} ({name})" for name, failure in pairs)
