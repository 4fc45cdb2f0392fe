"""Triton's trace settings: this server writes no trace files, and says so when one is asked for.

What it knows of queries it draws when asked (traced_queries.py, tails.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from surplus.engine.errors import InputError, UnsupportedError

SETTINGS: Mapping[str, Sequence[str]] = {
    "trace_level": ("OFF",),
    "trace_rate": ("1000",),
    "trace_count": ("-1",),
    "log_frequency": ("0",),
    "trace_file": ("",),
    "trace_mode": ("triton",),
}
"""By name, as Triton has them where nothing is traced."""

LISTS = frozenset({"trace_level"})
"""Those that have several values."""


def check_settings(asked: Mapping[str, Sequence[str]]) -> None:
    """Refuse what would change a setting.

    Parameters
    ----------
    asked : mapping
        New values by name; none sets a setting back to what it was at the start.

    Raises
    ------
    InputError
        If there is no setting of that name.
    UnsupportedError
        If it would not stay as it is.
    """
    for name, values in asked.items():
        if name not in SETTINGS:
            raise InputError(f"unknown trace setting {name!r}; there are {', '.join(SETTINGS)}")
        if values and tuple(values) != SETTINGS[name]:
            raise UnsupportedError(
                f"trace setting {name!r} cannot become {', '.join(values)!r}: this server writes "
                "no trace files; GET /v2/surplus/trace draws a query, /v2/surplus/late those that "
                "came late"
            )
