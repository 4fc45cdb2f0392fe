"""Takes broken models: ``python hostile_batch.py FOLDER OUT``, all in one process.

Each file goes through ``engine inspect`` and, where that succeeds, is run once as one segment.
A process of its own, so that a crash is seen; memory and time of a query are bounded.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from surplus.engine.cli.main import main as engine
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import EngineError
from surplus.engine.planning.stages import example_inputs, read_model
from surplus.engine.runtime.planned_model import PlannedModel
from tests.constant_costs import constant_problem, scattered_plan

MEMORY_BYTES = 16 << 30
QUERY_S = 10.0
DEVICES = parse_devices("cpu:1,emulated:gpu")


def inspect(path: Path, cache: Path) -> tuple[int, str]:
    """Exit status and what the verb wrote to standard error."""
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = engine(["inspect", str(path), "--cache", str(cache)])
    return status, errors.getvalue()


def answer(path: Path, cache: Path) -> str:
    """Load and run a model that inspect accepted: ``ok``, or why not."""
    graph = read_model(path, cache)
    problem = constant_problem(graph, DEVICES)
    try:
        model = PlannedModel(graph, scattered_plan(graph, problem, seed=0), machine_for(DEVICES))
        outputs = model.run(example_inputs(graph, path), timeout_s=QUERY_S)
    except EngineError as error:
        return f"{type(error).__name__}: {error}"
    assert list(outputs) == [spec.name for spec in model.outputs]
    return "ok"


def main(folder: Path, out: Path) -> None:
    """Write a line of JSON for each file: name, status, message, answer."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with out.open("w") as file:
        for path in sorted(folder.glob("*.onnx")):
            status, message = inspect(path, folder / "cache")
            said = answer(path, folder / "cache") if status == 0 else ""
            print(json.dumps([path.name, status, message, said]), file=file, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
