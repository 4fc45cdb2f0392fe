"""Surplus: run ONNX models on every processor of a server at once.

::

    import surplus

    model = surplus.load("model.onnx", devices="cpu:2", policy="comm_sd")
    outputs = model.run({"image": array})
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surplus.engine.pipeline.lazy import LazyModel
    from surplus.engine.pipeline.load import load
    from surplus.engine.pipeline.session import InferenceSession
    from surplus.engine.runtime.flight_log import late, top
    from surplus.engine.runtime.model import Future, Model
    from surplus.engine.serving.in_process import Server

    __version__: str

__all__ = ["Future", "InferenceSession", "LazyModel", "Model", "Server", "late", "load", "top"]

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
    if name == "InferenceSession":
        from surplus.engine.pipeline.session import InferenceSession

        return InferenceSession
    if name == "Server":
        from surplus.engine.serving.in_process import Server

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
