"""The models of one node as files: copies of versions, and the folder that its server looks at.

::

    files/NAME/VERSION-STAMP/...     copied once from the shared repository
    sets/NAME-NUMBER/                a model's folder, complete: links to those, a configuration
    models/NAME -> ../sets/...       what is served; changed by a rename, so that the server, which
                                     looks again and again, finds all of a change or nothing of it
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from google.protobuf import text_format

from surplus.engine.deployment.shared_repository import SharedRepository, version_of, versions_in
from surplus.engine.errors import ConfigError
from surplus.engine.repository.config_message import POOL, empty_config
from surplus.engine.repository.model_config import CONFIG_FILES, read_config

Versions = tuple[int, ...]


class StagedModels:
    """What lies on a node. For one thread.

    Parameters
    ----------
    folder : Path
        The node's own.
    repository : SharedRepository
    """

    def __init__(self, folder: Path, repository: SharedRepository) -> None:
        self._files = folder / "files"
        self._sets = folder / "sets"
        self.folder = folder / "models"
        self._repository = repository
        for made in (self._sets, self.folder):
            shutil.rmtree(made, ignore_errors=True)  # of an earlier life
            made.mkdir(parents=True)
        self._numbers = count()
        self._former: dict[str, Path] = {}
        self._used: dict[str, list[set[Path]]] = {}

    def stage(self, name: str, versions: Versions) -> None:
        """Have the server find these versions, and no others.

        Raises
        ------
        ConfigError
            If a version is not there, cannot be copied, or the configuration is wrong; whatever
            was staged stays.
        """
        known = self._repository.files(name)
        if missing := sorted(set(versions) - set(versions_in(known))):
            there = ", ".join(map(str, versions_in(known))) or "none"
            raise ConfigError(f"model {name!r}: no version {missing[0]}; there are: {there}")
        made = self._sets / f"{name}-{next(self._numbers)}"
        try:
            made.mkdir()
            self._fill(made, name, known, versions)
            _write_config(made, name, versions)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        self._point(name, made)
        self._forget_copies(name)

    def unstage(self, name: str) -> None:
        """Have the server find the model no more."""
        link = self.folder / name
        if link.is_symlink():
            self._retire(name, link)
            link.unlink()

    def _point(self, name: str, made: Path) -> None:
        link, new = self.folder / name, self._sets / f".{made.name}"
        if link.is_symlink():
            self._retire(name, link)
        new.symlink_to(made)
        new.replace(link)

    def _retire(self, name: str, link: Path) -> None:
        """Keep what the server may just be loading; remove what it served before that."""
        if (before := self._former.get(name)) is not None:
            shutil.rmtree(before, ignore_errors=True)
        self._former[name] = link.resolve()

    def _fill(self, made: Path, name: str, known: Mapping[str, str], versions: Versions) -> None:
        used: set[Path] = set()
        self._used[name] = [*self._used.get(name, ())[-1:], used]
        for group in (None, *versions):
            own = {path: stamp for path, stamp in known.items() if version_of(path) == group}
            folder = self._fetched(name, group, own)
            used.add(folder)
            for path in own:
                place = made / path
                place.parent.mkdir(parents=True, exist_ok=True)
                os.link(folder / path, place)

    def _forget_copies(self, name: str) -> None:
        """All but those of what is served, and of what was before, to go back to."""
        kept = set().union(*self._used[name])
        for folder in (self._files / name).iterdir():
            if folder not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def _fetched(self, name: str, version: int | None, own: Mapping[str, str]) -> Path:
        """Copies of files, made when these very files are not there yet."""
        stamp = hashlib.sha256(repr(sorted(own.items())).encode()).hexdigest()[:16]
        folder = self._files / name / f"{version or 'shared'}-{stamp}"
        if folder.exists():
            return folder
        partial = folder.with_name(f".{folder.name}")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for path in own:
            (partial / path).parent.mkdir(parents=True, exist_ok=True)
            self._repository.copy(name, path, partial / path)
        partial.rename(folder)
        return folder


def _write_config(folder: Path, name: str, versions: Versions) -> None:
    """As the repository has it, but for which versions are served."""
    message = empty_config()
    message.CopyFrom(read_config(folder, name).message)
    message.version_policy.specific.versions[:] = versions
    for file in CONFIG_FILES:
        (folder / file).unlink(missing_ok=True)
    text = text_format.MessageToString(message, descriptor_pool=POOL)
    (folder / "config.pbtxt").write_text(text, encoding="utf-8")
