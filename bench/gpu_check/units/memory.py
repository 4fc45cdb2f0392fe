"""Peak GPU memory of a model that has answered queries, each contender in a process of its own."""

from __future__ import annotations

from bench.gpu_check.figures import MEMORY, Found, figure
from bench.gpu_check.gpu_memory import beside_each_other
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """The engine's plan beside the whole model as one segment."""
    memory = beside_each_other(spec, setting)
    row = figure("peak GPU memory: engine / ONNX Runtime", memory.ratio, MEMORY, memory.note)
    return Found((row,), {"bytes": memory.used_bytes})
