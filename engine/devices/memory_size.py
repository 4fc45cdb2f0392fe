"""Sizes of memories as options give them: ``4GiB``, ``500MB``, ``1.5 GiB``, ``4096``."""

from __future__ import annotations

from surplus.engine.errors import ConfigError
from surplus.placement.byte_sizes import bytes_of


def parse_bytes(text: str) -> int:
    """Whole bytes of a size with an optional unit, rounded down.

    Raises
    ------
    ConfigError
        If it is no number followed by one of the known units, or less than a byte.
    """
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ConfigError(str(error)) from error
