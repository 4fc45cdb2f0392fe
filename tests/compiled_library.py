"""Compiles ``compiled_blocks.c``, as a user would; the library stays loaded with the process."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import surplus.engine
from surplus.engine import _core
from surplus.engine.values import to_value

INCLUDE = Path(surplus.engine.__file__).parent / "include"
SOURCE = Path(__file__).parent / "compiled_blocks.c"
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-shared", "-fPIC"]


@cache
def _compiled() -> Path | None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    path = Path(tempfile.mkdtemp(prefix="compiled_blocks")) / "libblocks.so"
    command = [compiler, *FLAGS, f"-I{INCLUDE}", str(SOURCE), "-o", str(path), "-lpthread"]
    subprocess.run(command, check=True, timeout=300)
    return path


def compiled_blocks() -> Path:
    """The library, or a skipped test where there is no compiler."""
    path = _compiled()
    if path is None:
        pytest.skip("no C compiler")
    return path


def compiled_runs() -> tuple[int, int]:
    """How often the narrow and the wide version have run."""
    counts = (ctypes.c_int * 2).in_dll(ctypes.CDLL(str(compiled_blocks())), "compiled_runs")
    return counts[0], counts[1]


def await_deaf(count: int) -> None:
    """Until that many calls of ``gemm_deaf`` wait, which heed nothing but ``release_deaf``."""
    while _deaf("compiled_waiting").value < count:
        pass


def deaf_plan(machine: _core.Machine) -> _core.Plan:
    """One call of ``gemm_deaf``, on rows of two numbers."""
    builder = _core.PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    weights = [to_value(np.ones(shape, np.float32)) for shape in ((2, 2), (2,))]
    builder.add_compiled(
        "deaf", 0, str(compiled_blocks()), "gemm_deaf", [x], [(y, 1, (-1, 2))], weights, 1
    )
    builder.set_inputs([x])
    builder.set_outputs([y])
    return builder.build()


def hold_lanes(machine: _core.Machine) -> None:
    """Until none of the first device's lanes is left: calls that were given up, and go on."""
    deaf, lanes = deaf_plan(machine), machine.stats()["devices"][0]["lanes"]
    runs = [deaf.submit([to_value(np.ones((1, 2), np.float32))]) for _ in range(lanes)]
    await_deaf(lanes)
    for run in runs:
        run.cancel()
    look_until(lambda: machine.is_stalled)


def release_deaf() -> None:
    """Have them return, and wait until all have."""
    _deaf("compiled_released").value = 1
    while _deaf("compiled_waiting").value:
        pass
    _deaf("compiled_released").value = 0


def look_until(condition: Callable[[], bool]) -> None:
    """Look at lanes at ever later times: what is late at one of them is held at the next."""
    at_ns = time.monotonic_ns()
    while not condition():
        _core.look_at_lanes(at_ns)
        at_ns += 30_000_000_000


def _deaf(name: str) -> ctypes.c_int:
    return ctypes.c_int.in_dll(ctypes.CDLL(str(compiled_blocks())), name)
