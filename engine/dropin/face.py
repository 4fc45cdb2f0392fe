"""The content of the modules that are imported in the place of ``onnxruntime``'s."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from surplus.engine.dropin import providers, settings
from surplus.engine.dropin.inference_session import InferenceSession
from surplus.engine.dropin.io_binding import IOBinding
from surplus.engine.dropin.levels import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from surplus.engine.dropin.model_metadata import ModelMetadata
from surplus.engine.dropin.node_arg import NodeArg
from surplus.engine.dropin.ort_device import OrtDevice
from surplus.engine.dropin.ort_value import OrtValue
from surplus.engine.dropin.refused import REFUSED, refused
from surplus.engine.dropin.run_options import RunOptions
from surplus.engine.dropin.session_facts import SessionFacts
from surplus.engine.dropin.session_options import SessionOptions
from surplus.engine.dropin.statuses import STATE_MODULE, STATUSES
from surplus.engine.native import load_runtime

_CLASSES: tuple[type, ...] = (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    IOBinding,
    InferenceSession,
    ModelMetadata,
    NodeArg,
    OrtDevice,
    OrtValue,
    RunOptions,
    SessionOptions,
)
_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    providers.get_all_providers,
    providers.get_available_providers,
    settings.create_and_register_allocator,
    settings.disable_telemetry_events,
    settings.enable_telemetry_events,
    settings.get_build_info,
    settings.get_device,
    settings.get_ep_devices,
    settings.get_version_string,
    settings.has_collective_ops,
    settings.register_execution_provider_library,
    settings.set_default_logger_callback,
    settings.set_default_logger_severity,
    settings.set_default_logger_verbosity,
    settings.set_global_thread_pool_sizes,
    settings.set_seed,
    settings.unregister_execution_provider_library,
)

_PUBLIC: dict[str, Any] = {
    **{each.__name__: each for each in _CLASSES},
    **{each.__name__: each for each in _FUNCTIONS},
    "SessionIOBinding": IOBinding,
}

MODULES: dict[str, dict[str, Any]] = {
    "onnxruntime": {**_PUBLIC, "__author__": "Microsoft, and surplus in its place"},
    "onnxruntime.capi": {},
    "onnxruntime.capi._pybind_state": {**_PUBLIC, **STATUSES},
    STATE_MODULE: {**_PUBLIC, **STATUSES},
    "onnxruntime.capi.onnxruntime_inference_collection": {**_PUBLIC, "Session": SessionFacts},
}
"""By name, what a module has. Others are ONNX Runtime's own, which import these."""


def fill(module: ModuleType) -> None:
    """Make a module what is imported in the place of ONNX Runtime's of its name."""
    vars(module).update(MODULES[module.__name__])

    def missing(name: str) -> Any:
        if name in ("__version__", "version"):
            return load_runtime()
        if name in REFUSED:
            return refused(name)
        raise AttributeError(f"surplus stands in for {module.__name__}, and has no {name!r} of it")

    vars(module)["__getattr__"] = missing
