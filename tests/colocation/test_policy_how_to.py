"""The policy of docs/how_to/colocation_policy.md is one that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TEXT = Path(__file__).parents[2] / "docs/how_to/colocation_policy.md"
RUN = """
from surplus.colocation import check_run, policy_spec, simulate
from tests.colocation.settings import load_of, service, setting_of

services = [service("a", slo_ms=40, max_batch=8), service("b", slo_ms=60, max_batch=8)]
setting = setting_of(services, load_of(services, [[0, 1, 2], [0, 30]]), [4, 7], [1, 1])
run = simulate(setting, policy_spec("halves"))
check_run(setting.load, services, run.deployment, run.record)
assert list(run.record.outcome) == [1] * 5, list(run.record.outcome)
"""


def test_it_serves_a_small_load() -> None:
    code = TEXT.read_text().split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 60
    whole = f"import surplus.colocation\n{code}\n{RUN}".replace(
        "from __future__ import annotations\n", ""
    )
    root = TEXT.parents[2]
    done = subprocess.run([sys.executable, "-c", whole], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
