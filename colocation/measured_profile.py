"""What ``engine colocate profile`` measured: times by model, share and batch, and interference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

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
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw.pop("format") != FORMAT:
            raise ValueError(f"field 'format' must be {FORMAT!r}")
        models = {name: _model(row) for name, row in raw.pop("models").items()}
        return MeasuredProfile(models=models, **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path}: no profile of engine colocate profile ({error})") from error


def _model(row: dict[str, Any]) -> MeasuredModel:
    return MeasuredModel(
        operators=int(row["operators"]),
        items=tuple(row["items"]),
        ms={share: tuple(times) for share, times in row["ms"].items()},
        deviation=tuple(row["deviation"]),
        groups_ms=tuple(row["groups_ms"]),
        versions=tuple(_version(version) for version in row.get("versions", ())),
    )


def _version(row: dict[str, Any]) -> MeasuredVersion:
    return MeasuredVersion(
        sensitivity=float(row["sensitivity"]),
        cores=tuple(row["cores"]),
        groups_ms=tuple(map(tuple, row["groups_ms"])),
    )
