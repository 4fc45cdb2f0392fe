"""What ``engine colocate profile`` measured: times by model, share and batch, and interference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from surplus.placement.records import read_document

T = TypeVar("T")

FORMAT = "surplus-colocation-profile/1"


@dataclass(frozen=True)
class MeasuredVersion:
    """Times of a version of a model's groups.

    Parameters
    ----------
    sensitivity : float
        Under a pressure it takes ``1 + sensitivity x pressure`` times as long.
    cores : tuple of int
        Numbers of cores that were measured, ascending.
    groups_ms : tuple of tuple of float, (groups, cores)
        Median time of each group of one query, run by itself.
    """

    sensitivity: float
    cores: tuple[int, ...]
    groups_ms: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.cores or list(self.cores) != sorted(set(self.cores)) or self.cores[0] < 1:
            raise ValueError(f"cores must be ascending and >= 1, got {list(self.cores)}")
        if not self.groups_ms or any(len(row) != len(self.cores) for row in self.groups_ms):
            raise ValueError(f"each group needs {len(self.cores)} times, one for each of cores")
        if self.sensitivity < 0 or min(map(min, self.groups_ms)) < 0:
            raise ValueError("sensitivity and groups_ms must be >= 0")


@dataclass(frozen=True)
class MeasuredModel:
    """Times of one model.

    Parameters
    ----------
    operators : int
        Groups that it was cut into.
    items : tuple of int
        Batches that were measured, ascending.
    ms : mapping of str to tuple of float
        Median time of each batch, by share in percent.
    deviation : tuple of float
        Relative standard deviation of each batch.
    groups_ms : tuple of float
        Median time of each group of one query, run by itself.
    versions : tuple of MeasuredVersion
        If there are compiled ones: all, from 0.
    """

    operators: int
    items: tuple[int, ...]
    ms: Mapping[str, tuple[float, ...]]
    deviation: tuple[float, ...]
    groups_ms: tuple[float, ...] = ()
    versions: tuple[MeasuredVersion, ...] = ()

    def __post_init__(self) -> None:
        if not self.items or len(self.deviation) != len(self.items):
            text = f"{len(self.items)} items and {len(self.deviation)} deviations"
            raise ValueError(f"items and deviation must be as many, got {text}")
        if self.operators < 1 or min(*self.deviation, *self.groups_ms, 0) < 0:
            raise ValueError("operators must be >= 1, deviation and groups_ms >= 0")
        if len({(version.cores, len(version.groups_ms)) for version in self.versions}) > 1:
            raise ValueError("versions must be of the same cores and groups")


@dataclass(frozen=True)
class MeasuredProfile:
    """All of a file.

    Parameters
    ----------
    devices : str
        What it was measured on.
    models : mapping of str to MeasuredModel
    extra : mapping
        ``extra["a"]["b"]``: extra time, as a fraction, that ``b`` beside it costs ``a``.
    machine : mapping
        For the reader.
    by_share : bool
        Whether shares are of processors, so that others lie between them; else they are lanes.
    """

    devices: str
    models: Mapping[str, MeasuredModel]
    extra: Mapping[str, Mapping[str, float]]
    machine: Mapping[str, Any] = field(default_factory=dict)
    by_share: bool = False

    def to_json(self) -> str:
        """Make a file of it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


@cache
def load_measured_profile(path: Path) -> MeasuredProfile:
    """Read a file that ``to_json`` made.

    Raises
    ------
    ValueError
        If it is something else.
    OSError
        If it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return read_document(MeasuredProfile, text, (FORMAT,), "profile")
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no profile of engine colocate profile ({error})") from error
