"""Which models ensembles are made of, and whether files of these have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from surplus.engine.errors import ConfigError
from surplus.engine.repository.layout import find_folders
from surplus.engine.repository.model_config import ModelConfig, read_config
from surplus.engine.repository.stamp import stamp_of


def step_names(config: ModelConfig) -> list[str]:
    """Of the models that one ensemble names; of any other model none."""
    named = (step.model_name for step in config.message.ensemble_scheduling.step)
    return list(dict.fromkeys(named))


def all_ensembles(name: str, configs: Mapping[str, ModelConfig]) -> list[str]:
    """Names of those that are made of a model, directly or by another, the nearest first.

    Parameters
    ----------
    configs : mapping of str to ModelConfig
        Of the models that there are.
    """
    return _reached(name, lambda at: [n for n in configs if at in step_names(configs[n])])


def all_steps(name: str, configs: Mapping[str, ModelConfig]) -> list[str]:
    """Names of those that a model is made of, those of ensembles within it, too; the same."""
    return _reached(name, lambda at: step_names(configs[at]) if at in configs else [])


def configs_in(folders: Mapping[str, Path]) -> dict[str, ModelConfig]:
    """What folders of models say of them, by name, where that can be read."""
    found = {}
    for name, folder in folders.items():
        with suppress(ConfigError):
            found[name] = read_config(folder, name)
    return found


def steps_beside(folder: Path) -> dict[str, str]:
    """What a model is made of by its files: by the names of folders beside it, their stamps."""
    stamps = {folder.name: stamp_of(folder)}

    def following(name: str) -> Sequence[str]:
        if name not in stamps:
            stamps[name] = stamp_of(folder.with_name(name))
        return _steps_in(folder.with_name(name), stamps[name])

    return {name: stamps[name] for name in _reached(folder.name, following)}


def stamp_with_steps(folder: Path) -> str:
    """As ``stamp_of``; of an ensemble also of what it is made of, which lies beside it."""
    own, steps = stamp_of(folder), steps_beside(folder)
    return hashlib.sha256(repr((own, steps)).encode()).hexdigest() if steps else own


def stamps_in(roots: Sequence[Path]) -> dict[str, str]:
    """Of each model that there is, by name: what changes from now on is another one."""
    folders = find_folders(*roots, may_be_empty=True)
    return {name: stamp_with_steps(folder) for name, folder in folders.items()}


@lru_cache(maxsize=4096)
def _steps_in(folder: Path, stamp: str) -> Sequence[str]:
    """Names that a folder's configuration has while it has that stamp; none if it is wrong."""
    if not folder.is_dir():
        return ()
    try:
        return tuple(n for n in step_names(read_config(folder)) if n and "/" not in n)
    except ConfigError:
        return ()


def _reached(name: str, following: Callable[[str], Sequence[str]]) -> list[str]:
    """What can be come to from a model, nearest first, without itself."""
    found, at = [name], 0
    while at < len(found):
        found += [one for one in following(found[at]) if one not in found]
        at += 1
    return found[1:]
