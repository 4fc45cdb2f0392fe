"""The C++ benches of engine/core/bench: built once under build/bench, printing JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "bench"


def run(program: str, *arguments: str) -> dict[str, Any]:
    """Build a program with what is installed here and return what it prints.

    oneTBB is found in this environment (``pip install -e .[bench]``) or in the system's folders.
    """
    _execute(
        _tool("cmake"),
        "-S",
        str(ROOT / "engine" / "core"),
        "-B",
        str(BUILD),
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={_tool('ninja')}",
        f"-DCMAKE_PREFIX_PATH={sys.prefix}",
    )
    _execute(_tool("cmake"), "--build", str(BUILD), "--target", program)
    found: dict[str, Any] = json.loads(_execute(str(BUILD / "bench" / program), *arguments))
    return found


def _tool(name: str) -> str:
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is not installed")
    return found


def _execute(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
