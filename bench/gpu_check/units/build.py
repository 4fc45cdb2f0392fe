"""Models and example inputs as files, so that no measured unit has to make them."""

from __future__ import annotations

from bench.gpu_check.figures import Found
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.setting import Setting
from bench.infrastructure.built_models import built


def measure(spec: ModelSpec, setting: Setting) -> Found:
    """Build the model; there is nothing to measure."""
    path, _ = built(spec.name, folder=setting.work, **spec.parameters)
    return Found((), {"bytes": path.stat().st_size})
