"""The page of a study: stand-alone, no name can inject markup, and Chromium draws every point."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from surplus.engine.report.study_html import study_page
from surplus.placement.study import StudyRow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NAME = "</script><b id='injected'>d</b>"
ROWS = [
    StudyRow(f"{NAME}{i}", family, 10 + i, policy, 100 + 7 * i + place, 100, 1_000 * place)
    for i, family in enumerate(("detector", "detector", "inception"))
    for place, policy in enumerate(("single", "heft"))
]


def test_nothing_is_fetched_and_no_name_is_markup() -> None:
    page = study_page(ROWS, "A <study>")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert NAME not in page
    assert "A &lt;study&gt;" in page
    assert page == study_page(ROWS, "A <study>")


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: make test-observers")
def test_a_browser_draws_every_problem_and_policy(tmp_path: Path) -> None:
    path = tmp_path / "study.html"
    path.write_text(study_page(ROWS, "Study"), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    found = subprocess.run(
        [*command, f"--user-data-dir={tmp_path}/profile", path.as_uri()],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    ).stdout
    assert len(re.findall(r"<circle[^>]*data-problem=", found)) == 3
    assert set(re.findall(r'data-policy="(\w+)"', found)) == {"single", "heft"}
    assert "<td>1.0700</td>" in found  # the median of single
    assert 'id="injected"' not in found
