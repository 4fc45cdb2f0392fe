"""Reads what compiled versions of a model's blocks there are; docs/FORMATS.md has the format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surplus.colocation.files.toml_table import TomlTable, read_table
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


def read_manifest(path: Path) -> Manifest:
    """Read a file.

    Raises
    ------
    ConfigError
        If it cannot be read, is of another format, or a key is unknown, missing or out of range.
    """
    try:
        table = read_table(path)
        if table.take("format", str) != FORMAT:
            raise ValueError(f"{path}: format must be {FORMAT!r}")
        artifacts = tuple(_artifact(row, path.parent) for row in table.tables("artifact"))
        manifest = Manifest(
            path=path,
            model=table.take("model", str, ""),
            sensitivities=_sensitivities(table, artifacts),
            artifacts=artifacts,
        )
        table.done()
    except (OSError, ValueError) as error:
        text = str(error)
        raise ConfigError(text if str(path) in text else f"{path}: {text}") from error
    return manifest


def _artifact(row: TomlTable, folder: Path) -> Artifact:
    artifact = Artifact(
        version=_at_least(row, "version", 0),
        width=_at_least(row, "width", 1),
        library=(folder / row.take("library", str)).absolute(),
        symbol=row.take("symbol", str),
        inputs=_names(row, "inputs"),
        constants=_names(row, "constants", []),
        outputs=_names(row, "outputs"),
        tolerance=row.take("tolerance", float, TOLERANCE),
    )
    if not artifact.tolerance >= 0:
        raise ValueError(f"{row.where}: tolerance must be >= 0, got {artifact.tolerance}")
    row.done()
    return artifact


def _at_least(row: TomlTable, key: str, least: int) -> int:
    value = row.take(key, int, least)
    if value < least:
        raise ValueError(f"{row.where}: {key} must be >= {least}, got {value}")
    return value


def _names(row: TomlTable, key: str, default: list[str] | None = None) -> tuple[str, ...]:
    names = row.take(key, list) if default is None else row.take(key, list, default)
    strings = all(isinstance(name, str) and name for name in names)
    if not strings or len(set(names)) != len(names) or (default is None and not names):
        raise ValueError(f"{row.where}: {key} must be different names, got {names}")
    return tuple(names)


def _sensitivities(table: TomlTable, artifacts: tuple[Artifact, ...]) -> tuple[float, ...]:
    """By version, 0 where nothing is said; no version is left out."""
    named = {artifact.version for artifact in artifacts}
    missing = set(range(1, max(named))) - named
    if missing:
        raise ValueError(f"{table.where}: no artifact of version {min(missing)}")
    count = 1 + max(named)
    values = table.take("sensitivities", list, [0.0] * count)
    numbers = all(type(value) in (int, float) and value >= 0 for value in values)
    if not numbers or len(values) != count:
        text = f"must be {count} numbers >= 0, one for each version from 0, got {values}"
        raise ValueError(f"{table.where}: sensitivities {text}")
    return tuple(map(float, values))
