"""What is known of a library of kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Installed(NamedTuple):
    """A library that is here: its file and version."""

    path: Path
    version: str


class KernelLibrary(NamedTuple):
    """Kernels for segments of a device.

    Parameters
    ----------
    name : str
        As users and plans name it, and the core.
    title : str
        For people.
    install : str
        How to get it.
    kinds : frozenset of str
        Of the devices whose segments it computes.
    find : callable
        Where it is, without loading it; None if it is not.
    refuses_op : callable
        Whether it must not run an operator of that name: what it answers there is not what ONNX
        Runtime answers, by more than float32 rounds.
    computes_in : callable
        Whether this processor has instructions to compute in a precision, ``bf16`` or ``f16``.
    is_provider : bool
        Whether it computes within ONNX Runtime's sessions, as one of its providers, and compiles
        and keeps what it compiled itself; else it is called by its own functions.
    """

    name: str
    title: str
    install: str
    kinds: frozenset[str]
    find: Callable[[], Installed | None]
    refuses_op: Callable[[str], bool]
    computes_in: Callable[[str], bool]
    is_provider: bool = False
