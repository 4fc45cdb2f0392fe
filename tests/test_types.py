"""What mypy says of a program that uses ``surplus``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("typed_program.py")


def test_mypy_finds_mistakes_and_nothing_else(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    cache = ["--cache-dir", str(PROGRAM.parent.parent / ".mypy_cache" / "program")]
    quiet = ["--config-file", "/dev/null", "--ignore-missing-imports", "--follow-imports=silent"]
    done = subprocess.run(
        [*words, *cache, *quiet, "--hide-error-context", str(PROGRAM)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    found = {int(line) for line in re.findall(r"typed_program\.py:(\d+): error", done.stdout)}
    lines = PROGRAM.read_text().splitlines()
    wanted = {number for number, line in enumerate(lines, 1) if "# error" in line}
    assert found == wanted, done.stdout + done.stderr
