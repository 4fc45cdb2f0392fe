"""What the GPU is, or what is missing to drive it: the first calls of CUDA's driver."""

from __future__ import annotations

from bench.gpu_check.figures import Found
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting, gpu_title
from surplus.engine.errors import EngineError


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Ask the driver; ``title`` or ``missing`` is among the details."""
    try:
        title = gpu_title(setting.specs)
        for device in setting.specs:
            device.check_present()
    except EngineError as error:
        return Found((), {"missing": str(error)})
    return Found((), {"title": title})
