"""How large the cache may grow by itself: what ``SURPLUS_CACHE_LIMIT`` says, for example 20GiB."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from surplus.engine.devices.memory_size import parse_bytes
from surplus.engine.errors import ConfigError
from surplus.engine.store.model_folders import prune

_log = logging.getLogger(__name__)

LIMIT_VARIABLE = "SURPLUS_CACHE_LIMIT"
"""Environment variable; without it the cache is not bounded."""


def cache_limit_bytes() -> int | None:
    """The limit of all models together; None without one, or where it is not understood."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return None
    try:
        return parse_bytes(text)
    except ConfigError as error:
        _log.warning("%s: %s; the cache is not bounded", LIMIT_VARIABLE, error)
        return None


def keep_within_limit(cache: Path) -> None:
    """Remove the models used longest ago above the limit; none that is loaded."""
    limit_bytes = cache_limit_bytes()
    if limit_bytes is not None:
        for folder in prune(cache, limit_bytes=limit_bytes):
            _log.info("%s of %s is removed: %s", folder.path, folder.source, LIMIT_VARIABLE)
