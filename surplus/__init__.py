"""Surplus: run ONNX models on every processor of a server at once.

::

    import surplus

    model = surplus.load("model.onnx", devices="cpu:2", policy="auto")
    outputs = model.run({"image": array})
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surplus.engine.deployment.cluster_deployment import deploy
    from surplus.engine.dropin.inference_session import InferenceSession
    from surplus.engine.dropin.io_binding import IOBinding
    from surplus.engine.dropin.levels import ExecutionMode, GraphOptimizationLevel
    from surplus.engine.dropin.ort_value import OrtValue
    from surplus.engine.dropin.run_options import RunOptions
    from surplus.engine.dropin.session_options import SessionOptions
    from surplus.engine.pipeline.lazy import LazyModel
    from surplus.engine.pipeline.load import load
    from surplus.engine.program.server import Server
    from surplus.engine.runtime.flight_log import late, top
    from surplus.engine.runtime.model import Future, Model
    from surplus.routing.async_client import AsyncClient
    from surplus.routing.client import Client
    from surplus.routing.client_params import ClientParams

    __version__: str

__all__ = [
    "AsyncClient",
    "Client",
    "ClientParams",
    "ExecutionMode",
    "Future",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "LazyModel",
    "Model",
    "OrtValue",
    "RunOptions",
    "Server",
    "SessionOptions",
    "deploy",
    "late",
    "load",
    "top",
]

_DROP_IN = {
    "ExecutionMode": "levels",
    "GraphOptimizationLevel": "levels",
    "IOBinding": "io_binding",
    "InferenceSession": "inference_session",
    "OrtValue": "ort_value",
    "RunOptions": "run_options",
    "SessionOptions": "session_options",
}
"""Classes with ONNX Runtime's names, by the module that each is in."""

_ROUTING = {
    "AsyncClient": "async_client",
    "Client": "client",
    "ClientParams": "client_params",
}
"""Those that ask servers, which need no core."""

# A server must not phone home; ONNX Runtime reads this when it is first loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    # Loaded on first use: `import surplus` must not cost what a CLI's --help does not need.
    if name == "load":
        from surplus.engine.pipeline.load import load

        return load
    if name == "LazyModel":
        from surplus.engine.pipeline.lazy import LazyModel

        return LazyModel
    if name in _DROP_IN:
        return getattr(import_module(f"surplus.engine.dropin.{_DROP_IN[name]}"), name)
    if name in _ROUTING:
        return getattr(import_module(f"surplus.routing.{_ROUTING[name]}"), name)
    if name == "deploy":
        from surplus.engine.deployment.cluster_deployment import deploy

        return deploy
    if name == "Server":
        from surplus.engine.program.server import Server

        return Server
    if name in ("Model", "Future"):
        from surplus.engine.runtime import model

        return getattr(model, name)
    if name in ("late", "top"):
        from surplus.engine.runtime import flight_log

        return getattr(flight_log, name)
    if name == "__version__":
        from surplus.engine.version import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
