"""A wheel of what ``make install`` has built, packed without compiling anything.

As scikit-build-core packs it: what pyproject.toml says of packages, files left out and entry
points, with the native libraries of the editable install. ``python -m tests.built_wheel FOLDER``.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

ROOT = Path(__file__).parents[1]
NAME = "surplus-engine"
_LEFT_OUT = ("*__pycache__*", "*.pyc")


def built_wheel(folder: Path) -> Path:
    """Write the wheel into a folder.

    Raises
    ------
    PackageNotFoundError
        If nothing was installed.
    """
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text())
    installed = distribution(NAME)
    stem = f"{NAME.replace('-', '_')}-{installed.version}"
    files = {
        **_sources(toml),
        **_libraries(installed),
        **_facts(toml, installed, f"{stem}.dist-info"),
    }
    record = f"{stem}.dist-info/RECORD"
    files[record] = "".join([*map(_row, files, files.values()), f"{record},,\n"]).encode()
    path = folder / f"{stem}-{_tag()}.whl"
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def _sources(toml: Mapping[str, Any]) -> dict[str, bytes]:
    asked = toml["tool"]["scikit-build"]
    left_out = [*_LEFT_OUT, *asked["wheel"]["exclude"]]
    found = (
        (path, str(path.relative_to(ROOT))) for path in _files(ROOT, asked["wheel"]["packages"])
    )
    return {
        name: path.read_bytes()
        for path, name in found
        if not any(fnmatch.fnmatch(name, pattern) for pattern in left_out)
    }


def _files(root: Path, packages: list[str]) -> Iterator[Path]:
    """Those of packages, whose folders are links to others."""
    folders = [root / package for package in packages]
    while folders:
        for path in sorted(folders.pop().iterdir()):
            if path.is_dir():
                folders.append(path)
            elif path.suffix != ".so":
                yield path


def _libraries(installed: Distribution) -> dict[str, bytes]:
    """What was compiled and lies beside the editable install's finder, licences among it."""
    own = [file for file in installed.files or () if file.parts[0] == "surplus"]
    return {str(file): Path(str(file.locate())).read_bytes() for file in own}


def _facts(toml: Mapping[str, Any], installed: Distribution, folder: str) -> dict[str, bytes]:
    project = toml["project"]
    groups = {"console_scripts": project["scripts"], **project.get("entry-points", {})}
    points = "\n".join(
        f"[{group}]\n" + "\n".join(f"{name} = {place}" for name, place in rows.items())
        for group, rows in groups.items()
    )
    facts = {
        "METADATA": installed.read_text("METADATA") or "",
        "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {_tag()}\n",
        "entry_points.txt": points,
    }
    licences = {f"licenses/{name}": (ROOT / name).read_text() for name in project["license-files"]}
    return {f"{folder}/{name}": text.encode() for name, text in {**facts, **licences}.items()}


def _tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


if __name__ == "__main__":
    print(built_wheel(Path(sys.argv[1])))
