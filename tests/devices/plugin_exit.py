"""``python plugin_exit.py NAME KEPT``: runs a segment on a plugin provider, then ends the process.

KEPT is ``nothing``, ``plan`` (and so its session) or ``flight``: runs that nobody waits for.
"""

from __future__ import annotations

import sys

import numpy as np

from surplus.engine import _core
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.profiling.operator_probe import negation
from surplus.engine.values import from_value


def negated(machine: _core.Machine, count: int) -> tuple[_core.Plan, list[_core.Value]]:
    """A plan of one segment on the provider, and its inputs."""
    operator = negation(count)
    builder = _core.PlanBuilder(machine)
    x, y = builder.add_value("x"), builder.add_value("y")
    builder.add_session("negation", 1, operator.model, [("x", x)], [("y", y)])
    builder.set_inputs([x])
    builder.set_outputs([y])
    return builder.build(), list(operator.inputs.values())


name, kept = sys.argv[1:]
plan, inputs = negated(machine_for(parse_devices(f"cpu:1,plugin:{name}")), 1 << 16)
answer = plan.run(inputs)[0]
assert answer is not None
assert np.all(np.asarray(from_value(answer)) == -1)
if kept == "flight":
    runs = [plan.submit(inputs) for _ in range(20)]
if kept == "nothing":
    del plan
