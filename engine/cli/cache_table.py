"""What ``engine cache`` prints."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from surplus.engine.cli.output import show_rows

if TYPE_CHECKING:
    from surplus.engine.store.model_folders import ModelFolder


_MB = 1e6


def show_models(title: str, found: Sequence[ModelFolder]) -> None:
    """Print a table with a row a model."""
    if not found:
        print(f"{title}, no model")
        return
    show_rows(title, [_row(one) for one in found])


def _row(one: ModelFolder) -> dict[str, str]:
    used = datetime.datetime.fromtimestamp(one.used_ns / 1e9).strftime("%Y-%m-%d %H:%M")
    share = f"{one.size_bytes / one.source_bytes:.1f}x" if one.source_bytes else "gone"
    return {
        "model": Path(one.source).name or one.path.name[:16],
        "MB": f"{one.size_bytes / _MB:.1f}",
        "of its file": share,
        "plans": str(one.plans),
        "last used": "now" if one.in_use else used,
    }


def megabytes(found: Sequence[ModelFolder]) -> str:
    """How much all of them take."""
    return f"{sum(one.size_bytes for one in found) / _MB:.1f} MB of {len(found)} models"
