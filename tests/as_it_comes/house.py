"""A home in an empty folder, in which programs run as a user's do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WAIT_S = 120  # only a hang reaches it
_OURS = ("SURPLUS_", "PYTEST", "PYTHON", "XDG_", "OMP_", "ORT_")


class House:
    """Home, cache and working folder of a test's processes.

    Parameters
    ----------
    python : Path
        Of the environment with the wheel.
    folder : Path
        The test's own.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        self._python = python
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        self._variables = {**kept, "HOME": str(folder / "home"), "PATH": path}
        (folder / "home").mkdir(exist_ok=True)

    def start(self, *words: object) -> subprocess.Popen[str]:
        """A command of the environment, such as ``engine`` or ``python``."""
        command = [str(self._python.with_name(str(words[0]))), *map(str, words[1:])]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=self._variables, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *words: object) -> str:
        """What a command prints; it ends well, and leaves nobody behind that holds its pipes."""
        return said(self.start(*words))

    def program(self, text: str, *words: object) -> subprocess.Popen[str]:
        """A program of a few lines, from a file, as its children might want to read it."""
        path = self.folder / f"program_{len(list(self.folder.glob('program_*')))}.py"
        path.write_text(text)
        return self.start("python", path, *words)


def said(process: subprocess.Popen[str]) -> str:
    """What it prints until it ends, which it does well."""
    try:
        out, errors = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == 0, f"{process.args}: exit {process.returncode}\n{out}{errors}"
    assert "Traceback" not in errors, errors
    assert "locked" not in errors, errors
    return out
