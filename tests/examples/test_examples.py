"""The tutorials run as their pages say, from any folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAYS = {
    "detector": r"in all",
    "recommender": r"in flight together",
    "serving": r"the same over the network",
    "many_models": r"clockwork +\d",
    "placement_study": r"lower bound",
    "gpu_on_a_laptop": r"best +\d",
}
PROFILE = ROOT / "bench" / "profiles" / "ssd.json.gz"


@pytest.mark.parametrize("name", SAYS)
def test_it_runs(name: str, tmp_path: Path) -> None:
    arguments = [str(PROFILE)] if name == "gpu_on_a_laptop" else []
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{name}.py"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[name], done.stdout), done.stdout


@pytest.mark.parametrize("name", SAYS)
def test_its_page_shows_it(name: str) -> None:
    page = (ROOT / "docs" / "tutorials" / f"{name}.md").read_text()
    assert f'--8<-- "examples/{name}.py"' in page
    assert f"tutorials/{name}.md" in (ROOT / "mkdocs.yml").read_text()
    extras = "cpu,solvers" if name == "placement_study" else "cpu"
    assert f"`pip install '.[{extras}]'`" in page
