"""Text from files and clients, such that a terminal shows it and does not obey it."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters but line ends and tabs, and what turns the direction of text."""


def printable(text: str) -> str:
    r"""The text with control characters as ``\x1b``, as Python's repr has them."""
    return _OBEYED.sub(lambda found: ascii(found[0])[1:-1], text)
