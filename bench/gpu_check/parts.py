"""Which models each part of the check measures, and for how long."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surplus import models
from surplus.engine.cuda_libraries import WORKSPACE, WORKSPACE_A_SESSION


@dataclass(frozen=True)
class ModelSpec:
    """A model of the registry with its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """For tables and the command line; ``model_of`` reads it back."""
        return f"{self.name} {json.dumps(dict(self.parameters))}" if self.parameters else self.name


def model_of(text: str) -> ModelSpec:
    """The model that ``ModelSpec.text`` named."""
    name, _, parameters = text.partition(" ")
    return ModelSpec(name, json.loads(parameters) if parameters else {})


@dataclass(frozen=True)
class Part:
    """One part of the check.

    Parameters
    ----------
    name : str
        Of its module in this package and of its file of results.
    models : tuple of ModelSpec
        A unit of work each.
    unit_s : float
        For how long a unit measures; loading and the like come on top.
    workers : int
        Units at a time; 1 where times are measured.
    limit_s : float, optional
        When a unit is stopped; by default some time after it should have ended.
    package : str
        Where its module is.
    """

    name: str
    models: tuple[ModelSpec, ...]
    unit_s: float
    workers: int = 1
    limit_s: float | None = None
    package: str = "bench.gpu_check.units"


OVERHEAD_S = 8.0
"""What a unit is expected to take beside measuring: a process, the model, its plan."""

_DETECTORS = tuple(map(ModelSpec, ("faster_rcnn", "mask_rcnn", "ssd_per_class")))
_LINEAR = tuple(map(ModelSpec, ("resnet50", "bert_base")))
_DLRM = (ModelSpec("dlrm", {"rows": 50_000}),)

_NO_MODEL = (ModelSpec("none"),)
"""The unit of a part that is about the machine."""

OF_THE_LIBRARY = "of the library"
"""The size of a workspace that nobody has set."""

_WORKSPACES = (ModelSpec("none"), ModelSpec("none", {"workspace": OF_THE_LIBRARY}))
"""With cuBLAS' workspace as the engine sets it, and as cuBLAS does."""

_WORKSPACE_SIZES = tuple(
    ModelSpec("none", {"workspace": size})
    for size in (WORKSPACE, WORKSPACE_A_SESSION, ":16:8", OF_THE_LIBRARY)
)
"""The engine's two, the least that NVIDIA names, and cuBLAS' own."""

_SMALL_WIDE = (ModelSpec("random_wide", {"depth": 6, "grain": 64, "kind": "matmul", "width": 12}),)
_SMALL_LINEAR = (ModelSpec("lenet"),)
_SMALL_DLRM = (ModelSpec("dlrm", {"batch": 4, "rows": 500, "tables": 4, "width": 16}),)


def first() -> tuple[Part, ...]:
    """What a first GPU must be asked, one question a part: five minutes at most, whatever hangs."""
    return (
        Part("session_cost", _WORKSPACES, 10, limit_s=40),
        Part("poll_in_capture", _NO_MODEL, 5, limit_s=40),
        Part("confinement", _NO_MODEL, 10, limit_s=45),
        Part("launch_rate", _NO_MODEL, 12, limit_s=50),
        Part("poll_cost", _NO_MODEL, 5, limit_s=35),
        Part("products", _WORKSPACE_SIZES, 5, limit_s=10),
    )


def full(workers: int) -> tuple[Part, ...]:
    """The whole check, what matters most first; ``workers`` units where no times are measured.

    On 16 cores it ends within 8 minutes, as long as a unit takes no more than ``OVERHEAD_S`` beside
    what it measures, and builds and outputs, which run side by side, two minutes in all.
    """
    every = tuple(ModelSpec(name) for name in models.model_names())
    return (
        Part("build", _distinct(*_DETECTORS, *_LINEAR, *_DLRM, *every), 60, workers),
        Part("latency", _DETECTORS, 15),
        Part("load", _DETECTORS, 25),
        Part("memory", _DETECTORS, 6),
        Part("linear", _LINEAR, 8),
        Part("dlrm", _DLRM, 10),
        Part("copies", _NO_MODEL, 5),
        Part("several_gpus", _DETECTORS[:1], 15),
        Part("instances", _DETECTORS[:1], 10),
        Part("profile", _DETECTORS[:1], 5),
        Part("outputs", every, 10, min(workers, 4)),
        Part("tensorrt", _LINEAR[:1], 10),
    )


def short(workers: int) -> tuple[Part, ...]:
    """The same parts on models that take moments: shows that the script works, nothing else."""
    every = (*_SMALL_WIDE, *_SMALL_LINEAR, *_SMALL_DLRM)
    return (
        Part("build", every, 60, workers),
        Part("latency", _SMALL_WIDE, 1),
        Part("load", _SMALL_WIDE, 1),
        Part("memory", _SMALL_WIDE, 1),
        Part("linear", _SMALL_LINEAR, 1),
        Part("dlrm", _SMALL_DLRM, 1),
        Part("copies", _NO_MODEL, 1),
        Part("several_gpus", _SMALL_WIDE, 1),
        Part("instances", _SMALL_WIDE, 1),
        Part("profile", _SMALL_WIDE, 1),
        Part("outputs", every[:2], 1, workers),
        Part("tensorrt", _SMALL_LINEAR, 1),
    )


def _distinct(*specs: ModelSpec) -> tuple[ModelSpec, ...]:
    return tuple({spec.text: spec for spec in specs}.values())
