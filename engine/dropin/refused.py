"""Names of ONNX Runtime's module that can be imported, and are refused when they are used."""

from __future__ import annotations

from typing import Any

from surplus.engine.dropin.statuses import NotImplemented, status

_ADAPTERS = "LoRA adapters are not there"
_COMPILED = "models are compiled for no provider; plans are stored by the engine"
_PACKAGES = "packages of models are not there"

REFUSED = {
    "AdapterFormat": _ADAPTERS,
    "LoraAdapter": _ADAPTERS,
    "ModelCompiler": _COMPILED,
    "ModelPackage": _PACKAGES,
    "ModelPackageComponentContext": _PACKAGES,
    "ModelPackageContext": _PACKAGES,
    "ModelPackageOptions": _PACKAGES,
    "ModelPackageWriteMode": _PACKAGES,
}
"""By name, why or what is instead: what opens sessions or changes their answers past the engine."""


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
