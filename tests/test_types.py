"""What type checkers say of a program that uses ``surplus``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("typed_program.py")
ROOT = PROGRAM.parent.parent
INSTALLED = ROOT / "build" / "adopted" / "base"

needs_pyright = pytest.mark.skipif(
    not (INSTALLED / "pyright").exists(), reason="make test-adopted installs pyright"
)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="pyright needs node")


def mistaken_lines() -> set[int]:
    """Where the program says that something is wrong."""
    lines = PROGRAM.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if "# error" in line}


def test_mypy_finds_mistakes_and_nothing_else(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "program")]
    quiet = ["--config-file", "/dev/null", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [*words, *cache, *quiet, "--hide-error-context", str(PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    found = {int(line) for line in re.findall(r"typed_program\.py:(\d+): error", done.stdout)}
    assert found == mistaken_lines(), done.stdout + done.stderr


@needs_pyright
@needs_node
def test_pyright_finds_mistakes_and_nothing_else() -> None:
    kept = {"PYRIGHT_PYTHON_CACHE_DIR": str(INSTALLED / "pyright_from_npm")}
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, PROGRAM],
        env={**os.environ, **kept, "PYTHONPATH": str(INSTALLED)},
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout)["generalDiagnostics"]
    found = {row["range"]["start"]["line"] + 1 for row in told}
    assert found == mistaken_lines(), told
