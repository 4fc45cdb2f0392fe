"""Reads what compiled versions of a model's blocks there are; docs/FORMATS.md has the format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from surplus.colocation.files.toml_file import read_toml
from surplus.engine.errors import ConfigError

FORMAT = "surplus-compiled/1"
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Artifact:
    """A compiled function that computes a block of a model.

    Parameters
    ----------
    version : int
        Under which it runs; 0 is what runs where nobody chooses.
    width : int
        Lanes that it keeps busy.
    library : Path
    symbol : str
        See ``engine/include/surplus_segment.h``.
    inputs, constants, outputs : tuple of str
        Names in the model, in the function's order; constants come after the inputs.
    tolerance : float
        How far its answers may be from ONNX Runtime's, relative to the largest of them.
    """

    version: int
    width: int
    library: Path
    symbol: str
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerance: float = TOLERANCE

    def __str__(self) -> str:
        return f"{self.symbol!r} of {self.library}"


@dataclass(frozen=True)
class Manifest:
    """All of a file.

    Parameters
    ----------
    path : Path
    model : str
        SHA-256 of the model that it is for; empty: not said.
    sensitivities : tuple of float
        By version: under a pressure it takes ``1 + sensitivity x pressure`` times as long.
    artifacts : tuple of Artifact
    """

    path: Path
    model: str
    sensitivities: tuple[float, ...]
    artifacts: tuple[Artifact, ...]


_Name = Annotated[str, Meta(min_length=1)]
_NotNegative = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, kw_only=True)
class _ArtifactTable:
    library: str
    symbol: str
    inputs: Annotated[tuple[_Name, ...], Meta(min_length=1)]
    outputs: Annotated[tuple[_Name, ...], Meta(min_length=1)]
    version: Annotated[int, Meta(ge=0)] = 0
    width: Annotated[int, Meta(ge=1)] = 1
    constants: tuple[_Name, ...] = ()
    tolerance: _NotNegative = TOLERANCE


@dataclass(frozen=True, kw_only=True)
class _ManifestTables:
    """The file as it is written."""

    format: str
    artifact: Annotated[tuple[_ArtifactTable, ...], Meta(min_length=1)]
    model: str = ""
    sensitivities: tuple[_NotNegative, ...] = ()


def read_manifest(path: Path) -> Manifest:
    """Read a file.

    Raises
    ------
    ConfigError
        If it cannot be read, is of another format, or a key is unknown, missing or out of range.
    """
    try:
        tables = read_toml(_ManifestTables, path)
        if tables.format != FORMAT:
            raise ValueError(f"{path}: format must be {FORMAT!r}")
        return Manifest(
            path=path,
            model=tables.model,
            sensitivities=_sensitivities(tables),
            artifacts=tuple(_artifact(table, path.parent) for table in tables.artifact),
        )
    except (OSError, ValueError) as error:
        text = str(error)
        raise ConfigError(text if str(path) in text else f"{path}: {text}") from error


def _artifact(table: _ArtifactTable, folder: Path) -> Artifact:
    for key in ("inputs", "constants", "outputs"):
        names = getattr(table, key)
        if len(set(names)) != len(names):
            raise ValueError(f"artifact {table.symbol!r}: {key} must be different names")
    return Artifact(**vars(table) | {"library": (folder / table.library).absolute()})


def _sensitivities(tables: _ManifestTables) -> tuple[float, ...]:
    """By version, 0 where nothing is said; no version is left out."""
    named = {table.version for table in tables.artifact}
    missing = set(range(1, max(named))) - named
    if missing:
        raise ValueError(f"no artifact of version {min(missing)}")
    count = 1 + max(named)
    values = tables.sensitivities or (0.0,) * count
    if len(values) != count:
        text = f"must be {count} numbers, one for each version from 0, got {len(values)}"
        raise ValueError(f"sensitivities {text}")
    return values
