"""What libraries of kernels compiled, beside the segments' files.

Named by what it was compiled from and by its own checksum: what is not what was written is not
opened, and is compiled anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from surplus.engine.cache.private import make_unchanging
from surplus.engine.cache.proven_files import keep_notes, sum_of
from surplus.engine.store.prepacked import processor_key

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompiledFile:
    """A segment as a library compiled it.

    Parameters
    ----------
    folder : Path
        Of the model, in the cache.
    source : str
        Name of the segment's file, which its content decides.
    library, version : str
    made_for : object
        Sizes of its inputs, and the precision.
    width : int
    """

    folder: Path
    source: str
    library: str
    version: str
    made_for: object
    width: int

    @property
    def what(self) -> str:
        """Of which segment: the same for all versions and processors."""
        return _digest((self.source, self.library, self.made_for, self.width))[:24]

    @property
    def stem(self) -> str:
        """What the names of its files begin with."""
        return f"compiled-{self.what}-{_digest((self.version, processor_key()))[:8]}"

    def find(self) -> Path | None:
        """The file, if there is one that is what was written."""
        for path in self.folder.glob(f"{self.stem}-*.blob"):
            try:
                if _is_intact(path):
                    keep_notes(self.folder)
                    return path
                _log.warning("%s is made again: it is damaged", path)
            except OSError as error:
                _log.warning("%s is made again: %s", path, error)
        return None

    def _share(self, part: Path, target: Path) -> None:
        """Have one file for all that is the same, as it often is for other numbers of threads: who
        opens several of these holds one.
        """
        checksum = target.stem.rpartition("-")[2]
        for same in self.folder.glob(f"compiled-*-{checksum}.blob"):
            if same != target and _is_intact(same):
                part.unlink()
                part.hardlink_to(same)
                return

    def keep(self, write: Callable[[Path], object]) -> Path | None:
        """Store it, whole or not at all; a cache that cannot be written costs only that.

        Parameters
        ----------
        write : callable
            Writes it where it is told to.
        """
        import tempfile  # a start that writes nothing does without

        try:
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=f".{self.stem}.")
        except OSError as error:
            _log.info("what was compiled is not stored: %s", error)
            return None
        os.close(handle)
        part = Path(name)
        try:
            write(part)
            target = self.folder / f"{self.stem}-{sum_of(part).checksum:016x}.blob"
            make_unchanging(part)
            self._share(part, target)
            return part.rename(target)
        except (OSError, RuntimeError) as error:
            _log.info("what was compiled is not stored: %s", error)
            part.unlink(missing_ok=True)
            return None


def _is_intact(path: Path) -> bool:
    return f"{sum_of(path).checksum:016x}" == path.stem.rpartition("-")[2]


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()
