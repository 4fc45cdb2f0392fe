"""What an ensemble is made of: steps, and the tensors that lead from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from surplus.engine.errors import ConfigError

Wrong = Callable[[str, str], ConfigError]
"""The error for a field of the configuration, by its path, and why."""


@dataclass(frozen=True)
class EnsembleStep:
    """A model that an ensemble runs.

    Parameters
    ----------
    model : str
        Its name in the repository.
    version : int
        -1: the newest.
    inputs : mapping of str to str
        The ensemble's tensor of each of the model's inputs.
    outputs : mapping of str to str
        The same of its outputs, not necessarily all.
    at : str
        Where it stands in the configuration, for errors: ``ensemble_scheduling.step[0]``.
    """

    model: str
    version: int
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    at: str = "step"

    def __str__(self) -> str:
        return f"step {self.model!r}"


@dataclass(frozen=True)
class Port:
    """An input or output of an ensemble.

    Parameters
    ----------
    at : str
        As of ``EnsembleStep``.
    """

    name: str
    at: str = ""


@dataclass(frozen=True)
class Ensemble:
    """Steps in the order of the configuration, which need not be that of their running.

    Parameters
    ----------
    name : str
        The ensemble's own.
    wrong : callable
        Makes the error that names file, line and field.
    """

    name: str
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    steps: Sequence[EnsembleStep]
    wrong: Wrong


@dataclass(frozen=True)
class StepModel:
    """The model behind a step.

    Parameters
    ----------
    path : Path
        Its ONNX file.
    alone : str
        Why it must answer by itself and cannot be part of a graph: it keeps state, say; or empty.
    """

    path: Path
    alone: str = ""
