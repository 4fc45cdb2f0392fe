"""Commands that install the package or what it needs: each names an extra that there is."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = (".py", ".md", ".service", ".yaml", ".toml")
FOLDERS = (
    "engine",
    "milp",
    "loadgen",
    "docs",
    "deploy",
    "examples",
    "README.md",
    "CONTRIBUTING.md",
)
_EXTRAS = re.compile(r"(?:surplus-engine|'\.|whl\))\[([a-z,]+)\]")
BARE = re.compile(
    r"pip install (?:onnxruntime(?:-gpu)?|aiohttp|matplotlib|pulp|torch|openvino)(?![-\w])"
)
"""What an extra brings, in the version that fits."""


def commands() -> list[tuple[str, str]]:
    """File and line of each that says how to install something."""
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.split() if name.endswith(TEXTS)]
    return [
        (str(file.relative_to(ROOT)), line)
        for file in files
        for line in file.read_text().splitlines()
        if "pip install" in line
    ]


EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize(("file", "line"), commands())
def test_a_command_names_extras_that_there_are(file: str, line: str) -> None:
    for extras in _EXTRAS.findall(line):
        assert set(extras.split(",")) <= EXTRAS.keys(), file
    assert not BARE.search(line), file


def test_the_extras_bring_one_build_of_onnxruntime_and_nothing_else_does() -> None:
    toml = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [line for line in toml["dependencies"] if line.startswith("onnxruntime")]
    for extra, build in (("cpu", "onnxruntime"), ("gpu", "onnxruntime-gpu")):
        assert [re.split("[>=<]", line)[0] for line in EXTRAS[extra]] == [build]
