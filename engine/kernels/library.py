"""What is known of a library of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Installed:
    """A library that is here: its file and version."""

    path: Path
    version: str


@dataclass(frozen=True)
class KernelLibrary:
    """Kernels for segments of a CPU.

    Parameters
    ----------
    name : str
        As users and plans name it, and the core.
    title : str
        For people.
    install : str
        How to get it.
    find : callable
        Where it is, without loading it; None if it is not.
    refuses_op : callable
        Whether it must not run an operator of that name: what it answers there is not what ONNX
        Runtime answers, by more than float32 rounds.
    computes_in : callable
        Whether this processor has instructions to compute in a precision, ``bf16`` or ``f16``.
    """

    name: str
    title: str
    install: str
    find: Callable[[], Installed | None]
    refuses_op: Callable[[str], bool]
    computes_in: Callable[[str], bool]
