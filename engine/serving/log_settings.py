"""Triton's log settings: which levels of this package's log are written."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from surplus.engine.errors import InputError, UnsupportedError

_LOGGER = "surplus"
_LEVELS = {"log_info": logging.INFO, "log_warning": logging.WARNING, "log_error": logging.ERROR}
_VERBOSE = "log_verbose_level"
_FIXED = {"log_file": "", "log_format": "default"}
_WHY_FIXED = {
    "log_file": "clients do not choose files of this server; its log is its standard error",
    "log_format": "it is chosen at the start: engine serve --log-format",
}
_MOST_VERBOSE = 2**32 - 1

Value = bool | int | str


class LogSettings:
    """The log of one process, as clients of a server see and set it.

    The log is touched only while settings differ from what they were at the start, and then that of
    the whole process. Each level is on or off by itself, as Triton has it; verbose levels above 0
    are all Python's DEBUG.

    Parameters
    ----------
    name : str
        The logger that is set, with those below it.
    """

    def __init__(self, name: str = _LOGGER) -> None:
        self._logger = logging.getLogger(name)
        self._shown = {key: self._logger.isEnabledFor(level) for key, level in _LEVELS.items()}
        self._verbose = int(self._logger.isEnabledFor(logging.DEBUG))
        self._first = self.values()
        self._first_level = self._logger.level
        self._filtered: list[logging.Handler] = []

    def values(self) -> dict[str, Value]:
        """Every setting by name."""
        return {**_FIXED, **self._shown, _VERBOSE: self._verbose}

    def update(self, asked: Mapping[str, Value | None]) -> None:
        """Change those that are named, or none of them; None leaves one as it is.

        Raises
        ------
        InputError
            If there is no setting of that name, or the value is of another type.
        UnsupportedError
            If it cannot be changed.
        """
        changes = {name: value for name, value in asked.items() if value is not None}
        for name, value in changes.items():
            _check(name, value)
        for name, value in changes.items():
            if name in _LEVELS:
                self._shown[name] = bool(value)
            elif name == _VERBOSE:
                self._verbose = int(value)
        if changes:
            self._apply()

    def shows(self, record: logging.LogRecord) -> bool:
        """Whether a record is to be written: one of another logger always is."""
        if record.name != self._logger.name and not record.name.startswith(f"{self._logger.name}."):
            return True
        if record.levelno > logging.ERROR:
            return True
        if record.levelno < logging.INFO:
            return self._verbose > 0
        at = max(level for level in _LEVELS.values() if level <= record.levelno)
        return next(self._shown[name] for name, level in _LEVELS.items() if level == at)

    def _apply(self) -> None:
        """Let pass what the least of the shown levels needs; handlers leave out what is between."""
        for handler in self._filtered:
            handler.removeFilter(self.shows)
        self._filtered.clear()
        if self.values() == self._first:
            self._logger.setLevel(self._first_level)
            return
        shown = [level for name, level in _LEVELS.items() if self._shown[name]]
        if self._verbose:
            shown.append(logging.DEBUG)
        self._logger.setLevel(min(shown, default=logging.CRITICAL))
        for handler in self._handlers():
            handler.addFilter(self.shows)
            self._filtered.append(handler)

    def _handlers(self) -> Iterator[logging.Handler]:
        """Those that write what is logged."""
        logger: logging.Logger | None = self._logger
        while logger is not None:
            yield from logger.handlers
            logger = logger.parent if logger.propagate else None


def _check(name: str, value: Value) -> None:
    if name in _FIXED:
        if value != _FIXED[name]:
            raise UnsupportedError(f"log setting {name!r}: {_WHY_FIXED[name]}")
    elif name in _LEVELS:
        if type(value) is not bool:
            raise InputError(f"log setting {name!r} must be true or false")
    elif name == _VERBOSE:
        if type(value) is not int or not 0 <= value <= _MOST_VERBOSE:
            raise InputError(f"log setting {name!r} must be a number from 0 to {_MOST_VERBOSE}")
    else:
        known = ", ".join((*_FIXED, *_LEVELS, _VERBOSE))
        raise InputError(f"unknown log setting {name!r}; there are {known}")
