"""One unit in a process of its own: ``python -m bench.gpu_check.unit`` prints its figures."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.gpu_check.parts import Part, model_of
from bench.gpu_check.setting import Setting
from bench.gpu_check.units.outputs import NO_TF32

_GRACE = 2.5
"""A unit may take that many times as long as it was to measure, then it is stopped."""

_FIRST_LOAD_S = 180.0
"""And so long on top: the first unit of a model measures its operators, places it and looks for
its throughput plan, which took 80 to 115 s of two cores for a detector, and as long beside an H100
with 16."""

_KILLED_S = 5.0
"""What is killed ends within that, or never."""


def run_unit(part: Part, model: str, setting: Setting, left_s: float) -> dict[str, Any]:
    """Run a unit and return its figures, or ``error`` and why there are none.

    Parameters
    ----------
    left_s : float
        Seconds until the check must end; the unit is stopped then.
    """
    own_limit_s = part.limit_s or _GRACE * part.unit_s + _FIRST_LOAD_S
    limit_s = min(left_s, own_limit_s)
    words = ["--devices", setting.devices, "--work", str(setting.work)]
    words += ["--results", str(setting.results), "--budget", f"{part.unit_s:g}"]
    module = f"{part.package}.{part.name}"
    command = [sys.executable, "-m", "bench.gpu_check.unit", module, model, *words]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **NO_TF32},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=max(0.0, limit_s))
    except subprocess.TimeoutExpired:
        ended = _stop(process)
        return {"error": f"stopped after {limit_s:.0f} s{'' if ended else ', and does not end'}"}
    except BaseException:
        _stop(process)
        raise
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return {"error": f"ended by {name}; it said last: {_last_line(err) or 'nothing'}"}
    if process.returncode:
        return {"error": _last_line(err) or f"ended with status {process.returncode}"}
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def _stop(process: subprocess.Popen[str]) -> bool:
    """End the unit with all that it started; whether it did, which a hung driver may prevent."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.communicate(timeout=_KILLED_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_check.unit", description=__doc__)
    parser.add_argument("module")
    parser.add_argument("model")
    parser.add_argument("--devices", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--budget", type=float, required=True)
    args = parser.parse_args()
    measure = import_module(args.module).measure
    setting = Setting(args.devices, args.work, args.results, args.budget)
    print(json.dumps(measure(model_of(args.model), setting).to_dict()))


if __name__ == "__main__":
    main()
