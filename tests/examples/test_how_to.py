"""The code of the pages that say how to add something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "how_to"
USED = """
from surplus.placement import check, make_policy, simulate
from surplus.placement.random_graphs import detector

problem = detector(seed=1)
placement = make_policy("host_only").place(problem)
check(problem, placement, simulate(problem, placement))
print(set(placement.device_of))
"""


def test_a_placement_policy() -> None:
    page = (PAGES / "placement_policy.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code + USED], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["{0}"], done.stderr
