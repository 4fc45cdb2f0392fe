"""TVM, where it is installed, and for which processor it compiles."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from surplus.engine.errors import ConfigError

_WIDE = ("avx512f", "avx512dq", "avx512vl", "avx512bw")


def has_tvm() -> bool:
    """Whether it is installed."""
    return find_spec("tvm") is not None


def tvm() -> Any:
    """The module.

    Raises
    ------
    ConfigError
        If it is not installed.
    """
    if not has_tvm():
        raise ConfigError("TVM is not installed: pip install 'surplus-engine[compiled]'")
    return import_module("tvm")


def part(name: str) -> Any:
    """A module of TVM's, ``te`` or ``s_tir`` say."""
    tvm()
    return import_module(f"tvm.{name}")


def target() -> Any:
    """LLVM, for vectors of 16 numbers where this processor has them.

    Not its exact model: LLVM guesses that by the family, which a virtual machine may change.
    """
    return tvm().target.Target({"kind": "llvm", "mcpu": _level()})


def _level() -> str:
    text = Path("/proc/cpuinfo").read_text()
    flags = next((row.split() for row in text.splitlines() if row.startswith("flags")), [])
    if set(_WIDE) <= set(flags):
        return "x86-64-v4"
    return "x86-64-v3" if "avx2" in flags else "generic"
