"""Runs COPY and RUN steps of a Dockerfile in a folder, where no engine for containers is.

    python -m tests.deploy.dockerfile_steps deploy/docker/Dockerfile FOLDER

Each absolute path of the image lies in that folder; ``python`` is of the first stage's version, as
uv finds it; steps that are the system's own (packages, users) are left out. Prints what its last
stage's environment says of itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOTS = ("/opt", "/source", "/wheels")
_SYSTEMS_OWN = ("apt-get", "useradd")
_PYTHON = re.compile(r"python:(?P<version>\d+\.\d+)")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Instruction and argument, in order; continued lines are one."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word, rest.strip()


def main() -> None:
    """Run what the first stage says, then ask the command that was installed."""
    dockerfile, folder = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True)  # it must be a clean one
    for word, rest in instructions(dockerfile.read_text()):
        if word == "FROM" and (image := _PYTHON.match(rest)):
            _put_first(image["version"], folder / "bin")
        elif word == "COPY" and not rest.startswith("--from"):
            _copy(*_inside(rest, folder).split())
        elif word == "RUN" and not rest.startswith(_SYSTEMS_OWN):
            _run(_inside(rest, folder))
    engine = folder / "opt/surplus/bin/engine"
    subprocess.run([engine, "--version"], check=True)
    subprocess.run([engine, "devices"], check=True)


def _put_first(version: str, folder: Path) -> None:
    """That Python, under the name that the image has for it.

    Raises
    ------
    SystemExit
        If it is not here.
    """
    uv = Path(sys.executable).with_name("uv")
    found = subprocess.run([uv, "python", "find", version], capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"the image's Python {version} is needed: {found.stderr.strip()}")
    folder.mkdir(exist_ok=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{found.stdout.strip()}" "$@"\n')
    python.chmod(0o755)
    if str(folder) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join((str(folder), os.environ["PATH"]))


def _inside(text: str, folder: Path) -> str:
    for root in _ROOTS:
        text = re.sub(rf"(?<![\w/.]){root}\b", f"{folder}{root}", text)
    return text


def _copy(source: str, to: str) -> None:
    """What git tracks of it: as .dockerignore leaves out what is built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", source],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        relative = Path(name) if source == "." else Path(name).relative_to(source)
        target = Path(to, relative)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy2(name, target, follow_symlinks=False)


def _run(command: str) -> None:
    print("RUN", command, flush=True)
    environment = {**os.environ, "KIND": os.environ.get("KIND", "cpu")}
    subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True, env=environment)


if __name__ == "__main__":
    main()
