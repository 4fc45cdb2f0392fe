"""ONNX Runtime's TensorRT provider beside the engine, where its libraries are there."""

from __future__ import annotations

from bench.gpu_check import onnxruntime_cuda
from bench.gpu_check.contender import ENGINE, of_call, of_model, peers
from bench.gpu_check.figures import Found, figure
from bench.gpu_check.other_process import isolated_runner
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.gpu_check.side_by_side import side_by_side
from bench.gpu_check.subject import Subject

_WHAT = "latency: engine / ONNX Runtime with TensorRT"


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Building an engine of TensorRT takes a while: the last part, with a time limit of its own."""
    provider = onnxruntime_cuda.TENSORRT
    if setting.is_emulated or not onnxruntime_cuda.has(provider):
        return Found((figure(_WHAT, None, note="no TensorRT provider here"),))
    subject = Subject(spec, setting, fixed=True)
    try:
        run = isolated_runner(subject.path, subject.inputs, provider)
    except RuntimeError as error:
        return Found((figure(_WHAT, None, note=" ".join(str(error).split())),))
    engine = of_model(ENGINE, subject.engine(), subject.inputs)
    peer = of_call("ONNX Runtime, TensorRT", run)
    _, times = side_by_side([engine, peer, *peers(subject)], setting.budget_s)
    return Found((figure(_WHAT, times[engine.name] / times[peer.name]),), {"ms": times})
