"""The header that compiled versions are written against comes with the installed package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = "surplus/engine/include/surplus_segment.h"


def test_the_command_of_the_docs_finds_it(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "COLOCATION.md").read_text()
    found = re.search(r'`python -c "(import surplus.engine; .*include.*)"`', page)
    assert found
    command = [sys.executable, "-c", found[1]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (Path(done.stdout.strip()) / "surplus_segment.h").is_file()


def test_a_wheel_does_not_leave_it_out() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]
    assert settings["packages"] == ["surplus"]
    assert not any(fnmatch(HEADER, pattern) for pattern in settings["exclude"])
