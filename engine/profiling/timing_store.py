"""Remembers measured times between runs, by key, in the user's cache folder."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from surplus.engine.cache.private import private_folder
from surplus.engine.profiling.timing import Timing

_log = logging.getLogger(__name__)

_FILE = "timings-2.sqlite"
_SCHEMA = """CREATE TABLE IF NOT EXISTS timings
    (key TEXT PRIMARY KEY, ns INTEGER, mad_ns INTEGER, provisional INTEGER)"""


class TimingStore:
    """Times by key. A store that cannot be read or written remembers within the process only.

    Not thread-safe; processes may share a folder.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; None keeps nothing beyond the object.
    """

    def __init__(self, folder: Path | None) -> None:
        self._known: dict[str, tuple[Timing, bool]] = {}
        self._database = None if folder is None else _open(private_folder(folder) / _FILE)

    def get(self, key: str) -> Timing | None:
        """The time stored under ``key``."""
        found = self._find(key)
        return None if found is None else found[0]

    def is_provisional(self, key: str) -> bool:
        """Whether the time stored under ``key`` is to be taken again on a quiet machine."""
        found = self._find(key)
        return found is not None and found[1]

    def put(self, key: str, timing: Timing, provisional: bool = False) -> None:
        """Remember a time; the later one wins."""
        self._known[key] = timing, provisional
        if self._database is not None:
            try:
                row = (key, timing.ns, timing.mad_ns, provisional)
                self._database.execute("INSERT OR REPLACE INTO timings VALUES (?, ?, ?, ?)", row)
            except sqlite3.Error as error:
                self._give_up(error)

    def _find(self, key: str) -> tuple[Timing, bool] | None:
        if key not in self._known and self._database is not None:
            try:
                query = "SELECT ns, mad_ns, provisional FROM timings WHERE key = ?"
                row = self._database.execute(query, (key,)).fetchone()
            except sqlite3.Error as error:
                self._give_up(error)
                row = None
            if row is not None:
                self._known[key] = Timing(int(row[0]), int(row[1])), bool(row[2])
        return self._known.get(key)

    def close(self) -> None:
        """Write what is pending."""
        if self._database is not None:
            try:
                self._database.commit()
                self._database.close()
            except sqlite3.Error as error:
                _log.warning("measured times are not stored: %s", error)
            self._database = None

    def _give_up(self, error: sqlite3.Error) -> None:
        _log.warning("measured times are not stored: %s", error)
        if self._database is not None:
            self._database.close()
            self._database = None


def _open(path: Path) -> sqlite3.Connection | None:
    """Open or create the file; one that is no database is replaced."""
    for attempt in range(2):
        try:
            path.touch(0o600)  # files that SQLite makes beside it are as private
            database = sqlite3.connect(path, timeout=5)
        except (OSError, sqlite3.Error) as error:
            _log.warning("measured times are not stored in %s: %s", path, error)
            return None
        try:
            database.execute(_SCHEMA)
            return database
        except sqlite3.OperationalError as error:
            database.close()
            _log.warning("measured times are not stored in %s: %s", path, error)
            return None
        except sqlite3.DatabaseError as error:
            database.close()
            _log.warning("%s is damaged and made again: %s", path, error)
            if attempt == 0:
                path.unlink(missing_ok=True)
    return None
