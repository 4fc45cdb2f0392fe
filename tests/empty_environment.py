"""An environment in an empty folder: our wheel, and of what is installed here what it asks for."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.built_wheel import NAME


def empty_environment(
    folder: Path, wheel: Path, extras: tuple[str, ...], beside: tuple[Path, ...] = ()
) -> Path:
    """Make one, of links where that will do; its interpreter.

    Parameters
    ----------
    folder : Path
        Is made.
    extras : tuple of str
        Of ours; what of them is not installed here is left out.
    beside : tuple of Path
        Further folders whose packages it sees.
    """
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    own = folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (own / "beside.pth").write_text("".join(f"{path}\n" for path in beside))
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{wheel}: exit {done.returncode}\n{done.stderr}")
    for needed in _needed(distribution(NAME), extras):
        for name in {file.parts[0] for file in needed.files or ()} - {"..", "__pycache__"}:
            link, place = own / name, Path(str(needed.locate_file(name)))
            if not link.exists():
                link.symlink_to(place)
    return python


def _needed(first: Distribution, extras: tuple[str, ...]) -> Iterator[Distribution]:
    """What a distribution asks for, and what that asks for."""
    asked, seen = [(first, extras)], {canonicalize_name(first.metadata["Name"])}
    while asked:
        of, wanted = asked.pop()
        for line in of.requires or ():
            requirement = Requirement(line)
            name, marker = canonicalize_name(requirement.name), requirement.marker
            holds = marker is None or any(marker.evaluate({"extra": e}) for e in (*wanted, ""))
            if not holds or name in seen:
                continue
            seen.add(name)
            try:
                found = distribution(name)
            except PackageNotFoundError:
                continue
            yield found
            asked.append((found, tuple(requirement.extras)))
