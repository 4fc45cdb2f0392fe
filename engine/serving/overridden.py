"""Models that a client has loaded with a configuration, or files, of its own."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from surplus.engine.errors import ConfigError
from surplus.engine.repository.json_config import parse_json
from surplus.engine.repository.layout import RepositoryEntry, entries_of
from surplus.engine.serving.load_request import Override


class Overridden:
    """The entries of such a model, and its files for as long as this object is there.

    Parameters
    ----------
    folder : Path or None
        Of the model in the repository, if it is there.

    Raises
    ------
    ConfigError
        If the configuration is wrong, or does not fit the files.
    """

    def __init__(self, name: str, override: Override, folder: Path | None) -> None:
        self._kept = TemporaryDirectory(prefix="surplus-model-") if override.files else None
        try:
            self.entries: list[RepositoryEntry] = self._entries(name, override, folder)
        except BaseException:
            self.close()
            raise

    def _entries(self, name: str, override: Override, folder: Path | None) -> list[RepositoryEntry]:
        if self._kept is not None:
            folder = Path(self._kept.name)
            _write(folder, override)
        if folder is None:
            raise ConfigError(f"model {name!r}: there is no folder of it, and no file came with it")
        if folder.is_file():
            raise ConfigError(f"model {name!r} is one file: a configuration needs files with it")
        config = parse_json(override.config, name, folder)
        if config.is_ensemble and override.files:
            raise config.lines.wrong("ensemble_scheduling", "its steps are in the repository")
        return entries_of(folder, config)

    def close(self) -> None:
        """Remove the files."""
        if self._kept is not None:
            self._kept.cleanup()


def _write(folder: Path, override: Override) -> None:
    for path, content in override.files.items():
        file = folder / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except OSError as error:
            raise ConfigError(f"file {path!r} cannot be kept: {error.strerror}") from error
