"""The interpreter that this process may start children with, if it is known to be a Python."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache

_NAME = re.compile(r"(python|pypy)[0-9.]*[a-z]?(\.exe)?", re.IGNORECASE)

_CHILD = "SURPLUS_CHILD"
"""Set in the environment of children, which start none themselves."""

CHILD_ENVIRONMENT = {_CHILD: "1"}


def find_interpreter() -> str | None:
    """The path of a Python that imports what this process does; None if there is none.

    In a frozen program, and in one that embeds Python, ``sys.executable`` is that program: to start
    it anew would start another one like it, which loads its models, and so on without end.
    """
    if getattr(sys, "frozen", False) or _CHILD in os.environ:
        return None
    return _as_python(sys.executable)


@lru_cache(maxsize=8)
def _as_python(path: str | None) -> str | None:
    if not path:
        return None
    names = {os.path.basename(path), os.path.basename(os.path.realpath(path))}  # noqa: PTH119
    is_python = any(_NAME.fullmatch(name) for name in names)
    return path if is_python and os.access(path, os.X_OK) else None
