"""A driver that is not there."""

from bench.gpu_check.figures import Found


def measure(spec: object, setting: object) -> Found:
    return Found((), {"missing": "no libcuda"})
