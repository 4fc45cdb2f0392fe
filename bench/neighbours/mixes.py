"""Which models share the machine: how often they are asked, and when they are due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.infrastructure.built_models import built
from bench.kernels.models import Inputs, model_of


@dataclass(frozen=True)
class Stream:
    """Queries of one model.

    Parameters
    ----------
    model : str
        In the registry, or one of the kernels' benchmark.
    rate_per_s : float
        At load 1.
    due_ms : float
        From when a query is meant to be sent.
    """

    name: str
    model: str
    rate_per_s: float
    due_ms: float
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def built(self) -> tuple[Any, Inputs]:
        """The model's file and example inputs."""
        return built(self.model, **self.parameters) if self.parameters else model_of(self.model)


_SIX = {"layers": 6, "hidden": 384, "sequence": 64, "vocabulary": 8000}
_FOUR = {"layers": 4, "hidden": 256, "sequence": 64, "vocabulary": 8000}

MIXES: Mapping[str, tuple[Stream, ...]] = {
    "voice": (
        Stream("voice 1", "lstm", 1000 / 32, 32.0),
        Stream("voice 2", "lstm", 1000 / 32, 32.0),
        Stream("text", "bert_base", 5.0, 200.0, _SIX),
        Stream("short text", "bert_base", 4.0, 100.0, _FOUR),
        Stream("detector", "ssd_mobilenet_v1", 5.0, 100.0),
    ),
    "recommenders": (
        Stream("ranking", "dlrm", 20.0, 30.0),
        Stream("clicks", "deepfm", 100.0, 10.0),
        Stream("candidates", "two_tower", 20.0, 25.0),
        Stream("tasks", "multi_task", 100.0, 10.0),
    ),
    "cameras": (
        Stream("camera 1", "ssd_mobilenet_v1", 4.0, 100.0),
        Stream("camera 2", "ssd_mobilenet_v1", 4.0, 100.0),
        Stream("labels", "mobilenet_v2", 10.0, 50.0),
        Stream("quality", "squeezenet", 10.0, 50.0),
    ),
}
BACKGROUND = Stream("background", "resnet50", 0.0, 0.0)
"""As often as it can."""


def arrivals_s(stream: Stream, load: float, seconds: float, seed: int, *, poisson: bool) -> Any:
    """When queries are meant to be sent, from the beginning on."""
    random = np.random.default_rng(seed)
    rate = stream.rate_per_s * load
    if not poisson:
        return np.arange(random.random() / rate, seconds, 1 / rate)
    count = int(rate * seconds * 2 + 20)
    times = np.cumsum(random.exponential(1 / rate, count))
    return times[times < seconds]
