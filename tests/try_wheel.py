"""Installs a wheel into an empty environment and uses it from another folder: ``make wheel``.

``python tests/try_wheel.py WHEEL`` with the interpreter that the wheel is for; needs PyPI.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_USES = """
import numpy as np
import surplus
from surplus import models
from surplus.engine.serving.native_front import missing_parser
from surplus.loadgen.native import module_missing

path = models.save(models.build("fork_join", branches=2, depth=1, size=4), "model.onnx")
model = surplus.load(path, devices="cpu:1", cache="cache", tune="now")
answer = model.run({spec.name: np.ones(spec.shape, np.float32) for spec in model.inputs})
assert all(np.isfinite(array).all() for array in answer.values()) and answer
assert surplus.__version__[0].isdigit()
assert module_missing() is None
assert not missing_parser()
print(surplus.__file__)
"""


def main() -> None:
    """Fail where anything does."""
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "venv", with_pip=True)
        tools = home / "venv" / "bin"
        _run(home, tools / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cpu]")
        _run(home, tools / "engine", "--version")
        _run(home, tools / "engine", "devices")
        _run(home, tools / "loadgen", "--help")
        _run(home, tools / "python", "-m", "surplus.milp", "--help")
        where = _run(home, tools / "python", "-c", _USES).strip()
        assert where.startswith(str(home)), where
    print(f"{wheel.name}: installed, loaded and ran a model")


def _run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:80]}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
