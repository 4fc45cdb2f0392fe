"""The grammar that the texts of most kinds share: ``KIND:NAME[OPTIONS]:LANES``."""

from __future__ import annotations

import re

from surplus.engine.errors import DeviceError

_DEVICE = (
    r"[a-z]+(?::(?P<name>[a-z][a-z0-9_-]*))?(?:\[(?P<options>[^\[\]]*)\])?"
    r"(?::(?P<lanes>[0-9]+))?"
)
_MAX_LANES = 1024


def parts(
    text: str, pattern: str | re.Pattern[str] = _DEVICE
) -> tuple[str | None, str | None, int]:
    """Name, options and lanes of a device; None or 0 where they are left out.

    Raises
    ------
    DeviceError
        If the text is no device.
    """
    match = re.fullmatch(pattern, text)
    if match is None:
        raise DeviceError(f"device {text!r} is not understood")
    lanes = 0 if match["lanes"] is None else int(match["lanes"])
    if match["lanes"] is not None and not 1 <= lanes <= _MAX_LANES:
        raise DeviceError(f"device {text!r}: lanes must be 1 to {_MAX_LANES}")
    return match["name"], match["options"], lanes


def words(options: str | None) -> list[str]:
    """What stands between brackets, one by one."""
    found = (word.strip() for word in re.split("[,;]", options or ""))
    return [word for word in found if word]
