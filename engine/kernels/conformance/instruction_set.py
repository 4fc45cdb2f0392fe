"""The instruction set that libraries choose their kernels by."""

from __future__ import annotations

import functools
from pathlib import Path

_SETS = (
    ("amx", {"amx_tile", "amx_int8", "amx_bf16"}),
    ("avx512-vnni", {"avx512f", "avx512bw", "avx512_vnni"}),
    ("avx512", {"avx512f", "avx512bw"}),
    ("avx2-vnni", {"avx2", "avx_vnni"}),
    ("avx2", {"avx2", "fma"}),
    ("sse4", {"sse4_1"}),
)
"""The widest first; a processor has the first of which it has all flags."""


def set_of(flags: frozenset[str]) -> str:
    """The name of the widest set that these flags of the kernel make up; else ``baseline``."""
    return next((name for name, needed in _SETS if needed <= flags), "baseline")


@functools.cache
def instruction_set() -> str:
    """That of this machine's processors."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return "baseline"
    line = next((row for row in text.splitlines() if row.startswith("flags")), "")
    return set_of(frozenset(line.split()))
