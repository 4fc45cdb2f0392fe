"""The interpreter that this process may start children with, if it is known to be a Python."""

from __future__ import annotations

import os
import sys
from functools import lru_cache

_NAMES = ("python", "pypy")
"""Behind them a version may stand, as in ``python3.13t``."""

_DEPTH = "SURPLUS_DEPTH"
"""Set in the environment of processes that the engine starts: how many stand above each."""

_DEEPEST = 2
"""What measures a model tries libraries of kernels in processes of its own, which start none."""


def find_interpreter() -> str | None:
    """The path of a Python that imports what this process does; None if there is none.

    In a frozen program, and in one that embeds Python, ``sys.executable`` is that program: to start
    it anew would start another one like it, which loads its models, and so on without end.
    """
    if getattr(sys, "frozen", False) or depth() >= _DEEPEST:
        return None
    return _as_python(sys.executable)


def depth() -> int:
    """How many processes of the engine stand above this one; 0 in a user's program."""
    said = os.environ.get(_DEPTH, "0")
    return int(said) if said.isdecimal() else _DEEPEST


def environment_below() -> dict[str, str]:
    """What the environment of a process that this one starts has beside its own."""
    return {_DEPTH: str(depth() + 1)}


@lru_cache(maxsize=8)
def _as_python(path: str | None) -> str | None:
    if not path:
        return None
    names = {os.path.basename(path), os.path.basename(os.path.realpath(path))}  # noqa: PTH119
    is_python = any(map(_is_pythons, names))
    return path if is_python and os.access(path, os.X_OK) else None


def _is_pythons(name: str) -> bool:
    stem = name.lower().removesuffix(".exe")
    known = next((known for known in _NAMES if stem.startswith(known)), None)
    if known is None:
        return False
    version = stem.removeprefix(known)
    if version.isascii() and version[-1:].isalpha():
        version = version[:-1]
    return not version.strip("0123456789.")
