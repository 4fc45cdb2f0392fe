"""ONNX Runtime's functions for the whole process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from surplus.engine.dropin.statuses import NotImplemented, status
from surplus.engine.native import load_runtime

LogCallback = Callable[[int, str, str, str, str], object]

_log = logging.getLogger(__name__)
_logger = logging.getLogger("surplus")

_SEVERITIES = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
"""Verbose, info, warning, error, fatal."""


def get_device() -> str:
    """What sessions compute on unless they name devices."""
    return "CPU"


def get_version_string() -> str:
    """The version of the library whose kernels compute."""
    return load_runtime()


def get_build_info() -> str:
    """What stands in for what, in a line."""
    from surplus.engine.version import version

    return f"surplus {version()} in the place of ONNX Runtime {load_runtime()}'s module"


def has_collective_ops() -> bool:
    """Whether operators speak to other processes."""
    return False


def set_default_logger_severity(severity: int) -> None:
    """From which level on the engine logs, 0 (verbose) to 4 (fatal).

    Raises
    ------
    RuntimeError
        If there is no such level.
    """
    if severity not in range(len(_SEVERITIES)):
        raise RuntimeError(
            "Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal"
        )
    _logger.setLevel(_SEVERITIES[severity])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Not read: there is one level of debugging."""


def set_default_logger_callback(callback: LogCallback | None, severity: int = 2) -> None:
    """Call back with what the engine logs from a level on, as ``set_default_logger_severity`` has
    it; None ends that.

    Raises
    ------
    RuntimeError
        If it cannot be called, or there is no such level.
    """
    for handler in [each for each in _logger.handlers if isinstance(each, CallbackHandler)]:
        _logger.removeHandler(handler)
    if callback is None:
        return
    if not callable(callback):
        raise RuntimeError("callback must be a callable")
    set_default_logger_severity(severity)
    _logger.addHandler(CallbackHandler(callback))


class CallbackHandler(logging.Handler):
    """Passes on what is logged as ONNX Runtime does.

    Parameters
    ----------
    callback : callable
        Of severity (0 to 4), category, logger, place in the code and message.
    """

    def __init__(self, callback: LogCallback) -> None:
        super().__init__()
        self._callback = callback

    def emit(self, record: logging.LogRecord) -> None:
        """Call back."""
        severity = sum(record.levelno >= level for level in _SEVERITIES[1:])
        place = f"{record.filename}:{record.lineno} {record.funcName}"
        self._callback(severity, "surplus", record.name, place, record.getMessage())


def set_seed(seed: int) -> None:
    """Not done, which the log says: random operators begin otherwise in each process."""
    _log.warning("set_seed(%s) is not done: random operators draw other numbers", seed)


def disable_telemetry_events() -> None:
    """There are none."""


def enable_telemetry_events() -> None:
    """There are none, which the log says at debug level."""
    _log.debug("telemetry stays off")


def set_global_thread_pool_sizes(
    intra_op_num_threads: int = 0, inter_op_num_threads: int = 0
) -> None:
    """Not read: all models share the lanes of their devices."""
    _log.debug("set_global_thread_pool_sizes is not read: devices= says how many lanes to use")


def create_and_register_allocator(*_: Any) -> None:
    """Not read: all models share one arena."""
    _log.debug("create_and_register_allocator is not read: all models share one arena")


def create_and_register_allocator_v2(*_: Any) -> None:
    """Not read, either."""
    create_and_register_allocator()


def register_execution_provider_library(name: str, path: str) -> None:
    """Refused.

    Raises
    ------
    NotImplemented
    """
    raise status(
        NotImplemented,
        f"{name}: name a plugin provider's library in SURPLUS_PLUGIN_NAME, and devices= in a"
        " session (docs/GPU.md)",
    )


def unregister_execution_provider_library(name: str) -> None:
    """Refused, as there is none of that name.

    Raises
    ------
    NotImplemented
    """
    raise status(NotImplemented, f"no library of a provider {name!r} is registered")
