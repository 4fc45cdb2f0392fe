"""What is installed is one package: a user's own files of any name do not matter."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("cluster", "colocation", "engine", "loadgen", "milp", "models", "placement", "routing")

_RUNS = """
import sys
import numpy as np
import surplus
from surplus import cluster, colocation, loadgen, milp, models, placement

path = models.save(models.build("fork_join", branches=2, depth=1, size=4), "model.onnx")
model = surplus.load(path, devices="cpu:1", cache="cache", tune="now")
print(model.run({spec.name: np.ones(spec.shape, np.float32) for spec in model.inputs}).keys())
import engine
assert engine.IS_THE_USERS
"""


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    """A user's script beside files and folders of the names that our parts have."""
    for name in PARTS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("IS_THE_USERS = True\n")
    (tmp_path / "native.py").write_text("raise RuntimeError('not ours')\n")
    (tmp_path / "script.py").write_text(_RUNS)
    return tmp_path


def test_a_users_own_packages_do_not_matter(users_folder: Path) -> None:
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=users_folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dict_keys" in done.stdout


@pytest.mark.parametrize("tool", ["engine", "loadgen"])
def test_commands_do_not_look_beside_the_user(users_folder: Path, tool: str) -> None:
    command = [str(Path(sys.executable).with_name(tool)), "--help"]
    done = subprocess.run(command, cwd=users_folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


def test_a_module_of_ours_runs_beside_a_users(users_folder: Path) -> None:
    command = [sys.executable, "-m", "surplus.milp", "--help"]
    done = subprocess.run(command, cwd=users_folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_links_are_the_folders_of_the_repository() -> None:
    links = sorted(path for path in (ROOT / "surplus").iterdir() if path.is_symlink())
    assert tuple(path.name for path in links) == PARTS
    assert all(path.resolve() == ROOT / path.name for path in links)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["tool"]["scikit-build"]["wheel"]["packages"] == ["surplus"]
