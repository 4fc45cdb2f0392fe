"""What a deployment is to serve: its file, looked at again and again, and newest versions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from surplus.engine.deployment.cluster_file import ClusterFile, read_cluster_file
from surplus.engine.deployment.shared_repository import SharedRepository, versions_in
from surplus.engine.deployment.staged_models import Versions
from surplus.engine.errors import ConfigError, EngineError

_LOG = logging.getLogger(__name__)
_FILE_S = 1.0

OnChange = Callable[[ClusterFile, Mapping[str, Versions]], None]


def wanted_versions(file: ClusterFile, repository: SharedRepository) -> dict[str, Versions]:
    """Versions of each model: those that are written, or the newest that there is.

    Raises
    ------
    ConfigError
        If the repository cannot be read, has no such model, or not that version.
    """
    found = {}
    for name, table in file.models.items():
        there = versions_in(repository.files(name))
        if not there:
            raise ConfigError(f"repository {file.repository} has no model {name!r}")
        if missing := sorted(set(table.versions) - set(there)):
            known = ", ".join(map(str, there))
            raise ConfigError(f"model {name!r}: no version {missing[0]}; there are: {known}")
        found[name] = tuple(sorted(set(table.versions))) or (there[-1],)
    return found


class WantedModels:
    """A thread that tells of changes.

    A newer version that the file does not name counts when its files were the same at two looks.

    Parameters
    ----------
    path : Path
        Of the file.
    file : ClusterFile
        As it was read.
    repository : SharedRepository
    on_change : callable
        Told the file and the versions when one of them is something else.
    every_s : float
        From one look at the repository to the next, for newest versions.
    """

    def __init__(
        self,
        path: Path,
        file: ClusterFile,
        repository: SharedRepository,
        versions: Mapping[str, Versions],
        on_change: OnChange,
        every_s: float,
    ) -> None:
        self._path = path
        self._file = file
        self._repository = repository
        self._versions = dict(versions)
        self._on_change = on_change
        self._every_s = every_s
        self._read_as = self._stamp()
        self._complaint = ""
        self._seen: dict[str, Mapping[str, str]] = {}
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="surplus file", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._is_closed.set()
        self._thread.join()

    def _run(self) -> None:
        since_s = 0.0
        while not self._is_closed.wait(_FILE_S):
            since_s += _FILE_S
            stamp = self._stamp()
            if stamp != self._read_as or since_s >= self._every_s:
                self._read_as = stamp
                since_s = 0.0
                self.look()

    def look(self) -> None:
        """Once; what is wrong is said once, and changes nothing."""
        try:
            file = read_cluster_file(self._path)
            _check_stays(self._file, file)
            versions = self._whole(file, wanted_versions(file, self._repository))
            if (file, versions) != (self._file, self._versions):
                self._on_change(file, versions)
            self._file, self._versions = file, versions
        except (EngineError, ValueError) as error:
            if str(error) != self._complaint:
                _LOG.warning("what is served stays as it is: %s", error)
            self._complaint = str(error)
        else:
            self._complaint = ""

    def _whole(self, file: ClusterFile, versions: Mapping[str, Versions]) -> dict[str, Versions]:
        """The same, but for newer ones that nobody named and that may still be being copied."""
        found = dict(versions)
        for name, own in versions.items():
            before = self._versions.get(name)
            if own == before or before is None or file.models[name].versions:
                continue
            files = self._repository.files(name)
            if self._seen.get(name) != files:
                found[name] = before
            self._seen[name] = files
        return found

    def _stamp(self) -> tuple[int, int]:
        try:
            told = self._path.stat()
        except OSError:
            return (0, 0)
        return told.st_mtime_ns, told.st_size


def _check_stays(before: ClusterFile, after: ClusterFile) -> None:
    """Refuse what cannot change while it serves."""
    kinds = {
        name: replace(table, serve=before.kinds[name].serve) if name in before.kinds else table
        for name, table in after.kinds.items()
    }
    if replace(after, models=before.models, kinds=kinds) != before:
        text = "[models] and kinds' serve may change while it serves; all else at the next start"
        raise ConfigError(f"only {text}")
