"""OR-Tools' ``cp_model``, imported without pandas.

It names pandas' types where series of variables are made, which nobody does here, and importing
them takes longer than all else that a solver's process does before its first job.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["cp_model"]


class _Names(ModuleType):
    """Types that nothing is an instance of."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Until the end of the block, nobody else may import pandas; whoever has it keeps it."""
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = _Names("pandas")
    try:
        yield
    finally:
        del sys.modules["pandas"]


with _without_pandas():
    from ortools.sat.python import cp_model
