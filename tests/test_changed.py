"""``make check`` runs the tests of what was changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.changed import ALWAYS, changed, relevant

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("engine/runtime/model.py", "tests/runtime"),
        ("engine/core/scheduler/plan.cpp", "tests/core"),
        ("placement/simulator.py", "tests/placement"),
        ("tests/dfg/test_summary.py", "tests/dfg/test_summary.py"),
        ("tests/scheduling/stage.py", "tests/scheduling"),
        ("engine/planning/choice.py", "tests/planning"),
        ("engine/devices/kinds/cuda.py", "tests/devices"),
        ("tests/fakes/gpu.py", "tests/fake_gpu"),
        ("docs/tutorials/serving.md", "tests/examples"),
        ("tests/loops.py", ""),
        ("examples/detector.py", "tests/examples"),
        ("LICENSE", ""),
    ],
)
def test_of_each_file(file: str, tests: str) -> None:
    (ROOT / file).stat()
    assert set(relevant([file], ROOT)) == {*ALWAYS, *filter(None, [tests])}


def test_a_file_within_a_folder_that_runs_anyway_is_not_named_again() -> None:
    found = relevant(["engine/dfg/graph.py", "tests/dfg/test_summary.py"], ROOT)
    assert found == sorted([*ALWAYS, "tests/dfg"])


def test_what_is_changed_and_not_committed(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("kept", "edited", "gone"):
        (tmp_path / name).write_text(name)
    git("add", ".")
    git("commit", "-m", "first")
    (tmp_path / "edited").write_text("anew")
    (tmp_path / "gone").unlink()
    (tmp_path / "added").write_text("")
    assert changed(tmp_path) == ["added", "edited", "gone"]
    assert changed(tmp_path / "none") == []
