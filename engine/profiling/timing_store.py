"""Remembers measured times between runs, by key, in the user's cache folder."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from surplus.engine.cache.private import private_folder
from surplus.engine.profiling.timing import Timing

_log = logging.getLogger(__name__)

_FILE = "timings-2.sqlite"
_WAIT_S = 5.0
"""How long another process may take to write what it has measured."""

_WRITTEN_TOGETHER = 256
"""Times: while a process writes, the others wait."""

_SCHEMA = """CREATE TABLE IF NOT EXISTS timings
    (key TEXT PRIMARY KEY, ns INTEGER, mad_ns INTEGER, provisional INTEGER)"""


class TimingStore:
    """Times by key. A store that cannot be read or written remembers within the process only.

    Not thread-safe; processes may share a folder, and measure at the same time: what one of them
    has measured is written at once.

    Parameters
    ----------
    folder : Path or None
        Where the file lies; None keeps nothing beyond the object.
    wait_s : float
        How long to wait for another process that writes.
    """

    def __init__(self, folder: Path | None, wait_s: float = _WAIT_S) -> None:
        self._known: dict[str, tuple[Timing, bool]] = {}
        self._pending: list[tuple[str, int, int, bool]] = []
        self._database = None if folder is None else _open(private_folder(folder) / _FILE, wait_s)

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
            self._pending.append((key, timing.ns, timing.mad_ns, provisional))
            if len(self._pending) % _WRITTEN_TOGETHER == 0:
                self._write()

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
        self._write()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _write(self) -> None:
        """Write what is pending, unless another process does not let go of the file."""
        if self._database is None or not self._pending:
            return
        try:
            with self._database:
                row = "INSERT OR REPLACE INTO timings VALUES (?, ?, ?, ?)"
                self._database.executemany(row, self._pending)
            self._pending.clear()
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        """Do without the file from now on; for now, where another process has it."""
        if _is_busy(error):
            _log.info("measured times wait for another process: %s", error)
            return
        _log.warning("measured times are not stored: %s", error)
        if self._database is not None:
            self._database.close()
            self._database = None


def _is_busy(error: sqlite3.Error) -> bool:
    """Whether another process had the file for longer than is waited for."""
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _open(path: Path, wait_s: float) -> sqlite3.Connection | None:
    """Open or create the file; one that is no database is replaced."""
    for attempt in range(2):
        try:
            path.touch(0o600)  # files that SQLite makes beside it are as private
            database = sqlite3.connect(path, timeout=wait_s)
        except (OSError, sqlite3.Error) as error:
            _log.warning("measured times are not stored in %s: %s", path, error)
            return None
        try:
            database.execute(_SCHEMA)
            return database
        except sqlite3.OperationalError as error:
            database.close()
            level = logging.INFO if _is_busy(error) else logging.WARNING
            _log.log(level, "measured times are not stored in %s: %s", path, error)
            return None
        except sqlite3.DatabaseError as error:
            database.close()
            _log.warning("%s is damaged and made again: %s", path, error)
            if attempt == 0:
                path.unlink(missing_ok=True)
    return None
