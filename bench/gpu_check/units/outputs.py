"""Outputs of the engine's plan and of the whole model on the GPU against the CPU's."""

from __future__ import annotations

import os

from bench.gpu_check.contender import ENGINE, WHOLE
from bench.gpu_check.figures import SAME_OUTPUTS, Found, figure
from bench.gpu_check.onnxruntime_cuda import CPU, runner
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.relative_error import relative_error
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject

NO_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
"""Environment in which NVIDIA's libraries round as the CPU does."""


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Ask twice, so that replayed graphs are compared, too."""
    subject = Subject(spec, setting)
    expected = runner(subject.path, subject.inputs, CPU)()
    rows = []
    for name, model in ((ENGINE, subject.engine()), (WHOLE, subject.whole(captured=False))):
        errors = [relative_error(model.run(dict(subject.inputs)), expected) for _ in range(3)]
        rows.append(figure(f"{name}: relative error", max(errors), SAME_OUTPUTS))
    return Found(tuple(rows), {"TF32": "off" if _is_off() else "as the libraries have it"})


def _is_off() -> bool:
    return all(os.environ.get(name) == value for name, value in NO_TF32.items())
