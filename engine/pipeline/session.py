"""``surplus.InferenceSession``: a model with the face of ONNX Runtime's Python class."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from surplus.engine.dfg.graph import Dim, ValueKind
from surplus.engine.errors import ConfigError
from surplus.engine.kernels.asked import ONNX_RUNTIME
from surplus.engine.pipeline.load import load
from surplus.engine.runtime.inputs import Array, IoSpec

_log = logging.getLogger(__name__)

_CPU = "CPUExecutionProvider"
_TYPE_NAMES = {onnx.TensorProto.FLOAT: "float", onnx.TensorProto.DOUBLE: "double"}
_KINDS = {
    ValueKind.TENSOR: "{}",
    ValueKind.SEQUENCE: "seq({})",
    ValueKind.OPTIONAL: "optional({})",
}


@dataclass(frozen=True)
class NodeArg:
    """An input or output, as ONNX Runtime describes it.

    Parameters
    ----------
    name : str
    type : str
        ``tensor(float)``, ``tensor(int64)``, ...
    shape : list
        Sizes; a name or None where a size is open. Empty where the rank is unknown.
    """

    name: str
    type: str
    shape: list[Dim]


class InferenceSession:
    """Programs written for ``onnxruntime.InferenceSession`` run with this one in its place.

    Parameters
    ----------
    path_or_bytes : str or Path
        An ONNX file; bytes are refused.
    sess_options : object, optional
        Not read, which the log says: ``devices`` says how many lanes to use.
    providers : sequence, optional
        Must contain ONNX Runtime's CPU provider if given; others are left out, as it does itself.
    devices, options
        As for ``surplus.load``; but ``kernels`` are ONNX Runtime's unless others are asked for.

    Attributes
    ----------
    model : surplus.Model
        What answers; it has more to offer (``submit``, ``timeline``, ...).

    Raises
    ------
    EngineError
        One of engine/errors.py, naming what is wrong.
    """

    def __init__(
        self,
        path_or_bytes: str | Path | bytes,
        sess_options: Any = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Any] | None = None,
        *,
        devices: str = "",
        **options: Any,
    ) -> None:
        if isinstance(path_or_bytes, bytes):
            raise ConfigError("expected the path of an ONNX file, got its bytes: write a file")
        _check_providers(providers)
        if sess_options is not None or provider_options is not None:
            _log.warning("sess_options and provider_options are not read; devices= says what runs")
        self.model = load(path_or_bytes, devices, **{"kernels": ONNX_RUNTIME, **options})

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Array],
        run_options: Any = None,
    ) -> list[Array]:
        """Answer one query; all outputs if none are named.

        Raises
        ------
        InputError
            If a name, type or shape does not fit.
        ConfigError
            If there are run options.
        ExecutionError
            If it failed.
        """
        if run_options is not None:
            raise ConfigError("run_options are not read; Model.run has a timeout")
        found = self.model.run(input_feed, output_names or None)
        return [found[name] for name in output_names or found]

    def get_inputs(self) -> list[NodeArg]:
        """Inputs without a default, in the model's order."""
        return [_node_arg(s) for s in self.model.inputs if not _has_default(s)]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default, in the model's order."""
        return [_node_arg(s) for s in self.model.inputs if _has_default(s)]

    def get_outputs(self) -> list[NodeArg]:
        """Outputs, in the model's order, which is that of ``run``."""
        return [_node_arg(s) for s in self.model.outputs]

    def get_providers(self) -> list[str]:
        """ONNX Runtime's providers that are in use."""
        return [_CPU]


def _check_providers(providers: Sequence[Any] | None) -> None:
    if providers is None:
        return
    names = [entry if isinstance(entry, str) else entry[0] for entry in providers]
    if _CPU not in names:
        raise ConfigError(f"providers {names} are not there: {_CPU} is; see devices=")


def _has_default(spec: IoSpec) -> bool:
    return spec.optional and spec.kind is not ValueKind.OPTIONAL


def _node_arg(spec: IoSpec) -> NodeArg:
    code = spec.elem_type
    name = _TYPE_NAMES.get(code) or onnx.TensorProto.DataType.Name(code).lower()
    return NodeArg(
        spec.name,
        _KINDS.get(spec.kind, spec.kind.value).format(f"tensor({name})"),
        list(spec.shape or ()),
    )
