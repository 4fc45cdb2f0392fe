"""Execution providers as ONNX Runtime names them, of which the CPU's answers here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from surplus.engine.dropin.statuses import Fail, status

CPU = "CPUExecutionProvider"

ALL = (
    "TensorrtExecutionProvider",
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider",
    "DnnlExecutionProvider",
    "VitisAIExecutionProvider",
    "QNNExecutionProvider",
    "NnapiExecutionProvider",
    "VSINPUExecutionProvider",
    "JsExecutionProvider",
    "CoreMLExecutionProvider",
    "ArmNNExecutionProvider",
    "ACLExecutionProvider",
    "DmlExecutionProvider",
    "RknpuExecutionProvider",
    "WebNNExecutionProvider",
    "WebGpuExecutionProvider",
    "XnnpackExecutionProvider",
    "CANNExecutionProvider",
    "AzureExecutionProvider",
    "CPUExecutionProvider",
)
"""What ONNX Runtime knows of."""


def get_all_providers() -> list[str]:
    """The names that ONNX Runtime knows."""
    return list(ALL)


def get_available_providers() -> list[str]:
    """Those that sessions may name: GPUs are named by ``devices=``."""
    return [CPU]


def check_providers(
    providers: Sequence[Any] | None, options: Sequence[Any] | None, *, falls_back: bool
) -> None:
    """Warn of providers that are not there, as ONNX Runtime does.

    Raises
    ------
    ValueError
        If they are not given as ONNX Runtime wants them, and the session does not fall back.
    Fail
        If one is of no name that ONNX Runtime knows, likewise.
    """
    try:
        names = _names(providers, options)
        for name in dict.fromkeys(names):
            if name != CPU:
                _warn(name)
        unknown = [name for name in names if name not in ALL]
        if unknown:
            raise status(Fail, f"Unknown Provider Type: {unknown[0]}")
    except (ValueError, Fail) as error:
        if not falls_back:
            raise
        warnings.warn(f"{error}; going on with {CPU}", stacklevel=4)


def _names(providers: Sequence[Any] | None, options: Sequence[Any] | None) -> list[str]:
    if providers is None:
        return []
    if not isinstance(providers, Sequence) or isinstance(providers, str):
        raise ValueError("'providers' should be a sequence.")
    if options is not None:
        _check_options(providers, options)
    names = []
    for entry in providers:
        if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], dict):
            entry = entry[0]
        if not isinstance(entry, str):
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
        names.append(entry)
    return names


def _check_options(providers: Sequence[Any], options: Any) -> None:
    if not isinstance(options, Sequence):
        raise ValueError("'provider_options' should be a sequence.")
    if len(providers) != len(options):
        raise ValueError(
            "'providers' and 'provider_options' should be the same length if both are given."
        )
    if not all(isinstance(provider, str) for provider in providers):
        raise ValueError(
            "Only string values for 'providers' are supported if 'provider_options' is given."
        )
    if not all(isinstance(entry, dict) for entry in options):
        raise ValueError("'provider_options' values must be dicts.")


def _warn(name: str) -> None:
    warnings.warn(
        f"Specified provider '{name}' is not in available provider names."
        f"Available providers: '{', '.join(get_available_providers())}'",
        stacklevel=5,
    )
