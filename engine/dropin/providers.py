"""Execution providers as ONNX Runtime names them, of which the CPU's answers here."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from surplus.engine.errors import RuntimeLibraryError
from surplus.engine.native import find_library

CPU = "CPUExecutionProvider"
_AZURE = "AzureExecutionProvider"
"""Asks servers for what no other computes; the package for CPUs has it."""

_CPU_PACKAGE = "package_name = 'onnxruntime'\n"
_PACKAGE_INFO = "build_and_package_info.py"

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
    return list(_available())


@functools.cache
def _available() -> tuple[str, ...]:
    """Of the installed package's, those that need no device but the CPU."""
    with suppress(OSError, RuntimeLibraryError):
        if _CPU_PACKAGE in (find_library().parent / _PACKAGE_INFO).read_text():
            return (_AZURE, CPU)
    return (CPU,)


def chosen_providers(
    providers: Sequence[Any] | None, options: Sequence[Any] | None, *, falls_back: bool
) -> list[str]:
    """Those that are in use, in the order asked for; others are warned of, as by ONNX Runtime.

    Raises
    ------
    ValueError
        If they are not given as ONNX Runtime wants them, and the session does not fall back.
    RuntimeError
        If one is of no name that ONNX Runtime knows, likewise.
    """
    try:
        names = _names(providers, options)
    except ValueError as error:
        if not falls_back:
            raise
        warnings.warn(f"{error}; going on with {CPU}", stacklevel=4)
        return [CPU]
    for name in names:
        if name not in _available():
            _warn(name)
    if not falls_back:
        check_known(names)
    return list(dict.fromkeys([*(name for name in names if name in _available()), CPU]))


def check_known(names: Sequence[str]) -> None:
    """Refuse the first that is of no name that ONNX Runtime knows.

    Raises
    ------
    RuntimeError
    """
    for name in names:
        if name not in ALL:
            raise RuntimeError(f"Unknown Provider Type: {name}")


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
    return list(dict.fromkeys(names))


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
        f"Available providers: '{', '.join(_available())}'",
        stacklevel=5,
    )
