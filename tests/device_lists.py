"""On which devices the tests that do not care run.

``SURPLUS_TEST_DEVICES="cpu:1,emulated:gpu:4" make test`` runs them on these instead of their usual
ones, and those that try several lists on these, too.
"""

from __future__ import annotations

import os

VARIABLE = "SURPLUS_TEST_DEVICES"
STREAMS = "cpu:1,emulated:gpu:4"
"""An emulated GPU of four streams with one submitting thread."""


def devices_or(usual: str) -> str:
    """The devices that the user wants tests to run on, else the usual ones."""
    return os.environ.get(VARIABLE) or usual


def with_wanted(*usual: str) -> tuple[str, ...]:
    """The usual device lists, and the one that the user wants."""
    return tuple(dict.fromkeys((*usual, devices_or(usual[0]))))
