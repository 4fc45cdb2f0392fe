"""Unpacks llhttp's C sources, which Node.js generates, from a Python package that carries them.

``python fetch_llhttp.py FOLDER``: run by CMake, beside which stands what is done without them.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

_PACKAGE = "httptools==0.9.0"
_SHA256 = "d484ebb7e3a3f3597b0f645fbd1b85633674ca808c1f5ba11c2caf7c66f5c8b6"
_VENDOR = "httptools-0.9.0/vendor/llhttp/"
_FILES = ("include/llhttp.h", "src/api.c", "src/http.c", "src/llhttp.c", "LICENSE-MIT")
_WAIT_S = 120


def main() -> None:
    """Fetch and unpack; ends with 1 where that is not possible."""
    folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        archive = _fetched(Path(made))
        if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != _SHA256:
            sys.exit(f"{archive.name} has the checksum {found}, not {_SHA256}")
        with tarfile.open(archive) as tar:
            content = {name: _member(tar, _VENDOR + name) for name in _FILES}
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _fetched(folder: Path) -> Path:
    """By pip, from wherever it is told to look; setuptools asks what it is called."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--retries", "1", "--timeout", "10", "--no-deps", "--no-build-isolation"]
    command += ["--no-binary", ":all:", "--dest", str(folder), _PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WAIT_S)
    except subprocess.TimeoutExpired:
        sys.exit(f"pip took longer than {_WAIT_S} s")
    if done.returncode:
        sys.exit(done.stderr.strip()[-500:])
    return next(folder.glob("httptools-*.tar.gz"))


def _member(tar: tarfile.TarFile, name: str) -> bytes:
    file = tar.extractfile(name)
    if file is None:
        sys.exit(f"{name} is no file")
    return file.read()


if __name__ == "__main__":
    main()
