"""A driver that knows its GPU."""

from bench.gpu_check.figures import Found


def measure(spec: object, setting: object) -> Found:
    return Found((), {"title": "FAKE GPU 9"})
