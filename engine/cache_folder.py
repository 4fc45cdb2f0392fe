"""Where graphs, measurements and plans are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the user's caches lie: ``$XDG_CACHE_HOME/surplus`` or ``~/.cache/surplus``."""
    chosen = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    base = Path(chosen) if Path(chosen).is_absolute() else Path.home() / ".cache"
    return base / "surplus"
