"""What a server tells whoever looks after it."""

from __future__ import annotations

import logging
import sys

from surplus.engine.serving.json_log import json_handlers, write_at_once

_LOGGER = "surplus.says"


def say(text: str, level: int = logging.INFO) -> None:
    """One line on standard error, whatever is logged; JSON where the log is."""
    line = " ".join(text.split())
    handlers = json_handlers()
    if not handlers:
        print(line, file=sys.stderr, flush=True)
    record = logging.LogRecord(_LOGGER, level, __file__, 0, line, None, None)
    write_at_once(record, handlers)
