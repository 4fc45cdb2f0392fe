"""A recommender whose tables stay in the host's memory: GPU memory and latency."""

from __future__ import annotations

from bench.gpu_check.contender import ENGINE, of_model, peers
from bench.gpu_check.figures import DLRM_LATENCY, DLRM_MEMORY, Found, figure
from bench.gpu_check.gpu_memory import beside_each_other
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.side_by_side import side_by_side
from bench.gpu_check.subject import Subject

SHARE = 0.08
"""Of all constants, what the engine's plan may keep in the GPU's memory."""


def memory_limit(subject: Subject) -> str:
    """``gpu_memory`` of the engine's plan: the tables do not fit, all else does."""
    total = sum(task.weight_bytes for task in subject.graph.tasks)
    return str(round(total * SHARE))


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """The engine under the limit against ONNX Runtime without one."""
    limit = memory_limit(Subject(spec, setting))
    subject = Subject(spec, setting, limit)
    model = subject.engine()
    engine = of_model(ENGINE, model, subject.inputs)
    ratio, times = side_by_side([engine, *peers(subject)], setting.budget_s)
    memory = beside_each_other(spec, setting, limit)
    rows = (
        figure("GPU memory: engine / ONNX Runtime", memory.ratio, DLRM_MEMORY, memory.note),
        figure("latency: engine / ONNX Runtime", ratio, DLRM_LATENCY),
    )
    return Found(rows, {"ms": times, "bytes": memory.used_bytes, "limit bytes": int(limit)})
