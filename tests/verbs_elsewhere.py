"""Verbs of the command line in processes of their own, on a machine that is made up for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def engine_in(folder: Path, environment: Mapping[str, str]) -> Callable[..., str]:
    """``engine`` with these variables in this folder, which has its cache, too; what it prints."""

    def engine(*words: str) -> str:
        command = [sys.executable, "-m", "surplus.engine.cli.main", *words]
        variables = {**environment, "XDG_CACHE_HOME": str(folder / "cache")}
        done = subprocess.run(
            command, env=variables, cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return engine
