"""When models are measured, where a program does not say so."""

from __future__ import annotations

import os

TUNE_VARIABLE = "SURPLUS_TUNE"
"""Environment variable that names one of ``LoadParams.tune``."""


def tune_by_default() -> str:
    """What ``SURPLUS_TUNE`` says, or in the background."""
    return os.environ.get(TUNE_VARIABLE) or "background"
