"""Which models a path holds: one ONNX file, or a model repository as Triton lays it out.

::

    repository/
      resnet50/              the model's name
        1/model.onnx         a version: a positive number
        2/model.onnx/        larger than 2 GB: a folder of model.onnx and its external data
            model.onnx

Other files (``config.pbtxt``, labels) are allowed and not read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surplus.engine.errors import ConfigError

MODEL_FILE = "model.onnx"


@dataclass(frozen=True, order=True)
class RepositoryEntry:
    """A version of a model and its ONNX file."""

    name: str
    version: str
    path: Path


def find_models(path: Path | str) -> list[RepositoryEntry]:
    """List the models of a path, by name and then version, oldest first.

    A file is version 1 of the model of its name without the suffix.

    Raises
    ------
    ConfigError
        If nothing is there, the file is no ``.onnx``, the folder holds no model, a model has no
        version, or a version no ONNX file; the message names the path and what was expected.
    """
    path = Path(path)
    if path.is_dir():
        return _repository(path)
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    if path.suffix != ".onnx":
        raise ConfigError(f"{path}: expected an .onnx file or a model repository folder")
    return [RepositoryEntry(path.stem, "1", path)]


def _repository(root: Path) -> list[RepositoryEntry]:
    folders = sorted(entry for entry in root.iterdir() if _is_model_folder(entry))
    if not folders:
        raise ConfigError(f"{root}: no model in it; expected NAME/VERSION/{MODEL_FILE}")
    return [entry for folder in folders for entry in _versions(folder)]


def _is_model_folder(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "_"))


def _versions(folder: Path) -> list[RepositoryEntry]:
    versions = [entry for entry in folder.iterdir() if entry.is_dir() and _is_version(entry.name)]
    if not versions:
        raise ConfigError(f"{folder}: no version in it; expected a folder such as 1/{MODEL_FILE}")
    versions.sort(key=lambda version: int(version.name))
    return [RepositoryEntry(folder.name, entry.name, _model_file(entry)) for entry in versions]


def _is_version(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")


def _model_file(version: Path) -> Path:
    for candidate in (version / MODEL_FILE, version / MODEL_FILE / MODEL_FILE):
        if candidate.is_file():
            return candidate
    raise ConfigError(f"{version}: no {MODEL_FILE} in it")
