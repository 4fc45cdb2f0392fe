"""Surplus: run ONNX models on every processor of a server at once.

::

    import surplus

    model = surplus.load("model.onnx", devices="cpu:2")
    outputs = model.run({"image": array})
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surplus.engine import errors
    from surplus.engine.deployment.cluster_deployment import deploy
    from surplus.engine.devices.emulation_params import EmulationParams
    from surplus.engine.dropin.inference_session import InferenceSession
    from surplus.engine.dropin.io_binding import IOBinding
    from surplus.engine.dropin.levels import ExecutionMode, GraphOptimizationLevel
    from surplus.engine.dropin.ort_value import OrtValue
    from surplus.engine.dropin.run_options import RunOptions
    from surplus.engine.dropin.session_options import SessionOptions
    from surplus.engine.errors import (
        CancelledError,
        ConfigError,
        DeadlineError,
        DeviceError,
        DeviceLostError,
        EngineError,
        ExecutionError,
        InputError,
        MemoryLimitError,
        ModelError,
        PlacementError,
        ProfileError,
        QueueFullError,
        RefusedError,
        RuntimeLibraryError,
        UnavailableError,
    )
    from surplus.engine.pipeline.lazy import LazyModel
    from surplus.engine.pipeline.load import load
    from surplus.engine.planning.load_options import LoadOptions
    from surplus.engine.planning.load_params import LoadParams
    from surplus.engine.program.server import Server
    from surplus.engine.runtime.flight_log import late, top
    from surplus.engine.runtime.future import Future
    from surplus.engine.runtime.inputs import IoSpec, Outputs
    from surplus.engine.runtime.model import Model
    from surplus.engine.runtime.queueing import Queueing
    from surplus.engine.serving.server_params import ServerParams
    from surplus.routing.async_client import AsyncClient
    from surplus.routing.client import Client
    from surplus.routing.client_params import ClientParams

    __version__: str

__all__ = [
    "AsyncClient",
    "CancelledError",
    "Client",
    "ClientParams",
    "ConfigError",
    "DeadlineError",
    "DeviceError",
    "DeviceLostError",
    "EmulationParams",
    "EngineError",
    "ExecutionError",
    "ExecutionMode",
    "Future",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InputError",
    "IoSpec",
    "LazyModel",
    "LoadOptions",
    "LoadParams",
    "MemoryLimitError",
    "Model",
    "ModelError",
    "OrtValue",
    "Outputs",
    "PlacementError",
    "ProfileError",
    "QueueFullError",
    "Queueing",
    "RefusedError",
    "RunOptions",
    "RuntimeLibraryError",
    "Server",
    "ServerParams",
    "SessionOptions",
    "UnavailableError",
    "deploy",
    "errors",
    "late",
    "load",
    "top",
]

_WHERE = {
    "AsyncClient": "routing.async_client",
    "Client": "routing.client",
    "ClientParams": "routing.client_params",
    "EmulationParams": "engine.devices.emulation_params",
    "ExecutionMode": "engine.dropin.levels",
    "Future": "engine.runtime.future",
    "GraphOptimizationLevel": "engine.dropin.levels",
    "IOBinding": "engine.dropin.io_binding",
    "InferenceSession": "engine.dropin.inference_session",
    "IoSpec": "engine.runtime.inputs",
    "LazyModel": "engine.pipeline.lazy",
    "LoadOptions": "engine.planning.load_options",
    "LoadParams": "engine.planning.load_params",
    "Model": "engine.runtime.model",
    "OrtValue": "engine.dropin.ort_value",
    "Outputs": "engine.runtime.inputs",
    "Queueing": "engine.runtime.queueing",
    "RunOptions": "engine.dropin.run_options",
    "Server": "engine.program.server",
    "ServerParams": "engine.serving.server_params",
    "SessionOptions": "engine.dropin.session_options",
    "deploy": "engine.deployment.cluster_deployment",
    "late": "engine.runtime.flight_log",
    "load": "engine.pipeline.load",
    "top": "engine.runtime.flight_log",
}
"""The module that each name is in; those that are not here are errors."""

# A server must not phone home; ONNX Runtime reads this when it is first loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


if not TYPE_CHECKING:  # else checkers would take any name for one that is there

    def __getattr__(name: str) -> Any:
        # Loaded on first use: `import surplus` must not cost what a CLI's --help does not need.
        if name == "__version__":
            from surplus.engine.version import version

            return version()
        if name == "errors":
            return import_module("surplus.engine.errors")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"surplus.{_WHERE.get(name, 'engine.errors')}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__version__"]
