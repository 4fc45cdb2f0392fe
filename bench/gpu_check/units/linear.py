"""Models without branches: no slower than ONNX Runtime, and faster as captured graphs."""

from __future__ import annotations

from bench.gpu_check import onnxruntime_cuda
from bench.gpu_check.contender import (
    ENGINE,
    WHOLE_CAPTURED,
    Contender,
    of_call,
    of_model,
    peers,
)
from bench.gpu_check.figures import LINEAR, LINEAR_WITH_GRAPHS, Figure, Found, figure
from bench.gpu_check.other_process import isolated_runner
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.side_by_side import side_by_side
from bench.gpu_check.subject import Subject

_WITHOUT = "latency without CUDA graphs: one segment of ours / ONNX Runtime's package"
_WITH = "latency with CUDA graphs: engine / ONNX Runtime without"


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """The engine's plan, one segment with and without graphs, and ONNX Runtime's own package."""
    subject = Subject(spec, setting, fixed=True)
    others = peers(subject)
    engine = of_model(ENGINE, subject.engine(), subject.inputs)
    refused = subject.why_not_captured()
    ratio, times = side_by_side([engine, *others, *_graphs(subject, refused)], setting.budget_s)
    rows = (
        figure("latency: engine / ONNX Runtime", ratio, LINEAR),
        figure(_WITH, None if refused else ratio, LINEAR_WITH_GRAPHS, refused),
        _our_session(times, others),
    )
    return Found(rows, {"ms": times})


def _graphs(subject: Subject, refused: str) -> list[Contender]:
    """What captures the whole model; shown beside the others, no bar compares with it."""
    found = []
    if not refused:
        found.append(of_model(WHOLE_CAPTURED, subject.whole(captured=True), subject.inputs))
    if not subject.setting.is_emulated and onnxruntime_cuda.has(onnxruntime_cuda.CUDA):
        run = isolated_runner(subject.path, subject.inputs, captured=True)
        found.append(of_call("ONNX Runtime, its own package with a CUDA graph", run))
    return found


def _our_session(times: dict[str, float], others: list[Contender]) -> Figure:
    """Whether the segment that stands for ONNX Runtime is as fast as its own package."""
    if len(others) < 2:
        return figure(_WITHOUT, None, LINEAR, "onnxruntime-gpu's package is not installed here")
    return figure(_WITHOUT, times[others[0].name] / times[others[1].name], LINEAR)
