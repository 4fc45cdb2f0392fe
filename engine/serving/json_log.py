"""The log as lines of JSON, for programs that collect logs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A line a record: time (UTC), level, logger, process, message, what was raised.

    What the record was given by ``extra`` are fields of their own.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        at = datetime.fromtimestamp(record.created, UTC)
        found: dict[str, Any] = {
            "time": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            found["raised"] = self.formatException(record.exc_info)
        extra = {name: value for name, value in vars(record).items() if name not in _USUAL}
        return json.dumps(found | extra, default=str, ensure_ascii=True)


def log_as_json() -> None:
    """Have what is written now become JSON, warnings of Python with it."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())
    logging.captureWarnings(True)


def write_at_once(record: logging.LogRecord, handlers: Iterable[logging.Handler]) -> None:
    """Past what else would hold it back: levels, and filters against floods."""
    for handler in handlers:
        handler.acquire()
        try:
            handler.emit(record)
        finally:
            handler.release()


def json_handlers() -> list[logging.Handler]:
    """Those that write JSON."""
    handlers = logging.getLogger().handlers
    return [handler for handler in handlers if isinstance(handler.formatter, JsonLines)]
