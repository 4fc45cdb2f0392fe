"""The content of the modules that are imported in the place of ``onnxruntime``'s."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from surplus.engine.dropin import ort_value, providers, settings
from surplus.engine.dropin.inference_session import InferenceSession
from surplus.engine.dropin.io_binding import IOBinding
from surplus.engine.dropin.levels import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from surplus.engine.dropin.model_metadata import ModelMetadata
from surplus.engine.dropin.node_arg import NodeArg
from surplus.engine.dropin.ort_device import OrtDevice
from surplus.engine.dropin.ort_value import OrtValue, OrtValueVector
from surplus.engine.dropin.own_modules import own_module
from surplus.engine.dropin.refused import REFUSED, refused
from surplus.engine.dropin.run_options import RunOptions
from surplus.engine.dropin.session_facts import SessionFacts
from surplus.engine.dropin.session_handle import SessionHandle
from surplus.engine.dropin.session_io_binding import SessionIOBinding
from surplus.engine.dropin.session_options import SessionOptions
from surplus.engine.dropin.statuses import STATE_MODULE, STATUSES
from surplus.engine.native import load_runtime

_SHARED: tuple[type | Callable[..., Any], ...] = (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    InferenceSession,
    ModelMetadata,
    NodeArg,
    OrtDevice,
    OrtValue,
    RunOptions,
    SessionIOBinding,
    SessionOptions,
    ort_value.copy_tensors,
    providers.get_all_providers,
    providers.get_available_providers,
    settings.create_and_register_allocator,
    settings.create_and_register_allocator_v2,
    settings.disable_telemetry_events,
    settings.enable_telemetry_events,
    settings.get_build_info,
    settings.get_device,
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
"""What the package has, and the extension module as well."""

COLLECTION_MODULE = "onnxruntime.capi.onnxruntime_inference_collection"

_PUBLIC = {each.__name__: each for each in _SHARED}
_STATE = {
    **_PUBLIC,
    **STATUSES,
    "OrtValueVector": OrtValueVector,
    "get_default_session_options": SessionOptions,
}
_COLLECTION = {
    "IOBinding": IOBinding,
    "InferenceSession": InferenceSession,
    "OrtDevice": OrtDevice,
    "OrtValue": OrtValue,
    "Session": SessionFacts,
    "copy_tensors": ort_value.copy_tensors,
}

_OF_THE_EXTENSION: dict[type, str] = {
    **{each: each.__name__ for each in _SHARED if isinstance(each, type)},
    **{kind: name for name, kind in STATUSES.items()},
    OrtValueVector: "OrtValueVector",
    SessionHandle: "InferenceSession",
}
_OF_THE_COLLECTION: dict[type, str] = {
    kind: name for name, kind in _COLLECTION.items() if isinstance(kind, type)
}

MODULES: dict[str, dict[str, Any]] = {
    "onnxruntime": {
        **_PUBLIC,
        "IOBinding": IOBinding,
        "__author__": "Microsoft, and surplus in its place",
    },
    "onnxruntime.capi": {},
    "onnxruntime.capi._pybind_state": _STATE,
    STATE_MODULE: _STATE,
    COLLECTION_MODULE: _COLLECTION,
}
"""By name, what a module has. Others are ONNX Runtime's own, which import these."""


def name_as_theirs() -> None:
    """Give classes the names and modules of ONNX Runtime's, by which programs know objects."""
    for module, names in (
        (STATE_MODULE, _OF_THE_EXTENSION),
        (COLLECTION_MODULE, _OF_THE_COLLECTION),
    ):
        for kind, name in names.items():
            kind.__name__ = kind.__qualname__ = name
            kind.__module__ = module


def fill(module: ModuleType) -> None:
    """Make a module what is imported in the place of ONNX Runtime's of its name.

    What it lacks is that one's own, or refused by name.
    """
    vars(module).update(MODULES[module.__name__])
    name_as_theirs()

    def missing(name: str) -> Any:
        if name in ("__version__", "version"):
            return load_runtime()
        own = None if name.startswith("__") else own_module(module.__name__)
        if name in REFUSED and hasattr(own, name):
            return refused(name)
        try:
            found = getattr(own, name)
        except AttributeError:
            text = f"surplus stands in for {module.__name__}, and has no {name!r} of it"
            raise AttributeError(text) from None
        vars(module)[name] = found
        return found

    def names() -> list[str]:
        return sorted({*vars(module), *dir(own_module(module.__name__))})

    vars(module).update(__getattr__=missing, __dir__=names)
