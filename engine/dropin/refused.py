"""Names of ONNX Runtime's module that can be imported, and are refused when they are used."""

from __future__ import annotations

from typing import Any

from surplus.engine.dropin.statuses import NotImplemented, status

REFUSED = {
    "AdapterFormat": "LoRA adapters are not there",
    "LoraAdapter": "LoRA adapters are not there",
    "ModelCompiler": "models are compiled for no provider; plans are stored by the engine",
    "ModelPackage": "packages of models are not there",
    "ModelPackageComponentContext": "packages of models are not there",
    "ModelPackageContext": "packages of models are not there",
    "ModelPackageOptions": "packages of models are not there",
    "ModelPackageWriteMode": "packages of models are not there",
    "OrtAllocatorType": "all models share one arena",
    "OrtArenaCfg": "all models share one arena",
    "OrtCompileApiFlags": "models are compiled for no provider",
    "OrtDeviceMemoryType": "values lie in the host's memory",
    "OrtEpAssignedNode": "no provider is asked, the plan says what runs where",
    "OrtEpAssignedSubgraph": "no provider is asked, the plan says what runs where",
    "OrtEpContextData": "models are compiled for no provider",
    "OrtEpContextDataBuffer": "models are compiled for no provider",
    "OrtEpDevice": "devices= says what computes",
    "OrtExecutionProviderDevicePolicy": "devices= says what computes",
    "OrtExternalInitializerInfo": "initializers are given as values",
    "OrtHardwareDevice": "devices= says what computes",
    "OrtHardwareDeviceType": "devices= says what computes",
    "OrtMemType": "values lie in the host's memory",
    "OrtMemoryInfo": "values lie in the host's memory",
    "OrtMemoryInfoDeviceType": "values lie in the host's memory",
    "OrtSparseFormat": "sparse tensors are not there",
    "OrtSyncStream": "values lie in the host's memory",
    "SparseTensor": "sparse tensors are not there",
    "copy_tensors": "numpy copies what lies in the host's memory",
    "create_and_register_allocator_v2": "all models share one arena",
    "quantize_matmul_2bits": "ONNX Runtime's own module quantises",
    "quantize_matmul_4bits": "ONNX Runtime's own module quantises",
    "quantize_matmul_8bits": "ONNX Runtime's own module quantises",
    "quantize_matmul_bnb4": "ONNX Runtime's own module quantises",
    "quantize_qdq_matmul_2bits": "ONNX Runtime's own module quantises",
    "quantize_qdq_matmul_4bits": "ONNX Runtime's own module quantises",
}
"""By name, why or what is instead."""


class _Refusing(type):
    """Of classes that cannot be made nor asked for anything; nothing is an instance of them."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise _refusal(cls.__name__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _refusal(cls.__name__)


def refused(name: str) -> type:
    """A class of that name, so that importing it is no error yet."""
    return _Refusing(name, (), {"__doc__": f"Not there: {REFUSED[name]}."})


def _refusal(name: str) -> Exception:
    return status(NotImplemented, f"onnxruntime.{name} is not there: {REFUSED[name]}")
