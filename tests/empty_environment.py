"""An environment in an empty folder that has our wheel, and sees what this one has installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path


def empty_environment(folder: Path, wheel: Path, *more: Path) -> Path:
    """Make one; its interpreter.

    Parameters
    ----------
    folder : Path
        Is made.
    more : Path
        Further folders whose packages it sees.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    # A path in a .pth file is added as it is: the editable install's finder, a .pth, is not read.
    own = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    seen = (*more, Path(sysconfig.get_paths()["platlib"]), Path(sysconfig.get_paths()["purelib"]))
    (own / "beside.pth").write_text("".join(f"{path}\n" for path in dict.fromkeys(seen)))
    _run(
        *(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)),
        *("install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--ignore-installed"),
        str(wheel),
    )
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
