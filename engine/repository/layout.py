"""Which models a path holds: one ONNX file, or a model repository as Triton lays it out.

::

    repository/
      resnet50/              the model's name
        config.pbtxt         optional, or config.toml: how it is served
        labels.txt           what config.pbtxt names
        1/model.onnx         a version: a positive number
        2/model.onnx/        larger than 2 GB: a folder of model.onnx and its external data
            model.onnx
      recognizer/            an ensemble: config.pbtxt names its steps, models beside it; it needs
        config.pbtxt         no version, and no file in one

Of the versions those are served that ``version_policy`` says, by default the newest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from surplus.engine.errors import ConfigError
from surplus.engine.repository.model_config import ModelConfig, read_config

_log = logging.getLogger(__name__)

MODEL_FILE = "model.onnx"


@dataclass(frozen=True, order=True)
class RepositoryEntry:
    """A version of a model and its ONNX file.

    Parameters
    ----------
    config : ModelConfig, optional
        How it is served; None where it is one file.
    error : str
        Why it cannot be loaded, which is known already; empty if nothing is.
    """

    name: str
    version: str
    path: Path
    config: ModelConfig | None = field(default=None, compare=False)
    error: str = field(default="", compare=False)


def find_models(*paths: Path | str, may_be_empty: bool = False) -> list[RepositoryEntry]:
    """List the models of paths, by name and then version, oldest first.

    A file is version 1 of the model of its name without the suffix. What is wrong with one model
    of several is its entry's ``error``, and no reason not to serve the others.

    Parameters
    ----------
    may_be_empty : bool
        Whether there may be no model, or only such with errors, since others may come later.

    Raises
    ------
    ConfigError
        If nothing is there, a file is no ``.onnx``, two folders hold a model of one name, or there
        is no model without an error; the message names the path and what was expected.
    """
    folders = find_folders(*paths, may_be_empty=may_be_empty)
    found = [entry for name in sorted(folders) for entry in read_entries(folders[name], name)]
    if found and not may_be_empty and all(entry.error for entry in found):
        raise ConfigError(found[0].error)
    return found


def warn_of_fields(entries: Iterable[RepositoryEntry]) -> None:
    """Log, once a model, which fields of its configuration nothing comes of."""
    for config in {entry.name: entry.config for entry in entries}.values():
        for line in () if config is None else config.warnings():
            _log.warning("%s", line)


def find_folders(*paths: Path | str, may_be_empty: bool = False) -> dict[str, Path]:
    """The folder of each model, or its ONNX file, by its name.

    Parameters
    ----------
    may_be_empty : bool
        Whether a repository may hold no model.

    Raises
    ------
    ConfigError
        As :func:`find_models`, but for what is within the folders.
    """
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        for name, folder in _models_of(path, may_be_empty).items():
            if name in found:
                raise ConfigError(f"{folder}: model {name!r} is at {found[name]}, too")
            found[name] = folder
    return found


def read_entries(folder: Path, name: str) -> list[RepositoryEntry]:
    """The versions of one model that are served, oldest first; one entry if there is an error.

    Parameters
    ----------
    folder : Path
        As :func:`find_folders` gives it.
    """
    if folder.is_file():
        return [RepositoryEntry(name, "1", folder)]
    try:
        return entries_of(folder, read_config(folder, name))
    except (ConfigError, OSError) as error:
        newest = max(_versions(folder), default=1)
        return [RepositoryEntry(name, str(newest), folder, error=str(error))]


def entries_of(folder: Path, config: ModelConfig) -> list[RepositoryEntry]:
    """The versions in a folder that are served by this configuration, oldest first.

    Raises
    ------
    ConfigError
        If there is none, or one has no file.
    """
    return [
        RepositoryEntry(config.name, version, _model_file(folder, version, config), config)
        for version in served_versions(folder, config)
    ]


def served_versions(folder: Path, config: ModelConfig) -> Sequence[str]:
    """Versions by the policy of the configuration, oldest first.

    Raises
    ------
    ConfigError
        If there is none, or not one that the policy names.
    """
    versions = _versions(folder)
    if not versions and config.is_ensemble:
        versions = [1]
    if not versions:
        raise ConfigError(f"{folder}: no version in it; expected a folder such as 1/{MODEL_FILE}")
    policy = config.message.version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "specific":
        wanted = sorted(set(policy.specific.versions))
        if missing := [version for version in wanted if version not in versions]:
            at = "version_policy.specific.versions"
            raise config.lines.wrong(at, f"there is no version {missing[0]}")
        versions = wanted
    elif choice != "all":
        versions = versions[-(policy.latest.num_versions or 1) :]
    return [str(version) for version in versions]


def _models_of(path: Path, may_be_empty: bool) -> dict[str, Path]:
    if path.is_dir():
        folders = {entry.name: entry for entry in path.iterdir() if is_model_folder(entry)}
        if not folders and not may_be_empty:
            raise ConfigError(f"{path}: no model in it; expected NAME/VERSION/{MODEL_FILE}")
        return folders
    if not path.exists():
        raise ConfigError(f"{path}: no such file or folder")
    if path.suffix != ".onnx":
        raise ConfigError(f"{path}: expected an .onnx file or a model repository folder")
    return {path.stem: path}


def is_model_folder(path: Path) -> bool:
    """Whether a folder in a repository is of a model; some are of other programs."""
    return path.is_dir() and not path.name.startswith((".", "_"))


def _versions(folder: Path) -> list[int]:
    """Those that are there, oldest first."""
    if not folder.is_dir():  # it has gone meanwhile
        return []
    return sorted(
        int(entry.name) for entry in folder.iterdir() if entry.is_dir() and _is_version(entry.name)
    )


def _is_version(name: str) -> bool:
    return name.isascii() and name.isdigit() and not name.startswith("0")


def _model_file(folder: Path, number: str, config: ModelConfig) -> Path:
    """The version's file; of an ensemble the folder, as its steps are models of the others."""
    if config.is_ensemble:
        return folder
    version = folder / number
    name = config.message.default_model_filename or MODEL_FILE
    for candidate in (version / name, version / name / name):
        if candidate.is_file():
            return candidate
    raise ConfigError(f"{version}: no {name} in it")
