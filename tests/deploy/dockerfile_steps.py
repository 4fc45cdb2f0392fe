"""Runs COPY and RUN steps of a Dockerfile in a folder, where no engine for containers is.

    python -m tests.deploy.dockerfile_steps deploy/docker/Dockerfile FOLDER

Each absolute path of the image lies in that folder; steps that are the system's own (packages,
users) are left out. Prints what its last stage's environment says of itself.
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
        if word == "COPY" and not rest.startswith("--from"):
            _copy(*_inside(rest, folder).split())
        elif word == "RUN" and not rest.startswith(_SYSTEMS_OWN):
            _run(_inside(rest, folder))
    engine = folder / "opt/surplus/bin/engine"
    subprocess.run([engine, "--version"], check=True)
    subprocess.run([engine, "devices"], check=True)


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
