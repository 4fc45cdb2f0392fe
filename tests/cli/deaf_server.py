"""``engine serve`` all of whose lanes come to be held by operators that never return."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from surplus.engine import _core
from surplus.engine.cli import loads
from surplus.engine.cli.main import main
from surplus.engine.values import to_value
from tests.compiled_library import await_deaf, compiled_blocks, look_until

_load = loads._loaded


def _hold(machine: _core.Machine) -> None:
    builder = _core.PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    weights = [to_value(np.ones(shape, np.float32)) for shape in ((2, 2), (2,))]
    place = ("deaf", 0, str(compiled_blocks()), "gemm_deaf")
    builder.add_compiled(*place, [x], [(y, 1, (-1, 2))], weights, 1)
    builder.set_inputs([x])
    builder.set_outputs([y])
    deaf = builder.build()
    lanes = machine.stats()["devices"][0]["lanes"]
    runs = [deaf.submit([to_value(np.ones((1, 2), np.float32))]) for _ in range(lanes)]
    await_deaf(lanes)
    for run in runs:
        run.cancel()
    look_until(lambda: machine.is_stalled)


def _then_held(*arguments: Any) -> Any:
    executor = _load(*arguments)
    threading.Thread(target=_hold, args=(executor.model._machine,), daemon=True).start()
    return executor


loads._loaded = _then_held
sys.exit(main())
