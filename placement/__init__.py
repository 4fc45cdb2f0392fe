"""Where and in which order the tasks of a graph run: problem, policies, simulator, judge, bounds.

Knows nothing of ONNX: any task graph can be a ``Problem``. A policy maps it to a ``Placement``,
``simulate`` predicts the ``Timeline``, ``validate`` judges one, ``lower_bounds`` says what is left
to gain, ``placement_table`` compares. Importing the package registers all policies.
"""

# Registered in the paper's order, which is that of every table.
# isort: off
from placement import baseline, qd, sd, comm_sd, heft, best, balance

# isort: on
from placement.bounds import Bounds, lower_bounds
from placement.fit_memory import InfeasibleError
from placement.memory import MemoryUse, memory_use
from placement.placement import Placement
from placement.policy import (
    Policy,
    keeps_devices,
    make_policy,
    policy_names,
    policy_options,
    register,
)
from placement.problem import Blob, Device, Link, Problem, Task, Tensor
from placement.simulator import SimulatorParams, simulate
from placement.table import CommonRow, DeviceColumn, PlacementRow, common_table, placement_table
from placement.timeline import Span, SpanKind, Timeline
from placement.validate import Rule, Violation, check, validate

__all__ = [
    "Blob",
    "Bounds",
    "CommonRow",
    "Device",
    "DeviceColumn",
    "InfeasibleError",
    "Link",
    "MemoryUse",
    "Placement",
    "PlacementRow",
    "Policy",
    "Problem",
    "Rule",
    "SimulatorParams",
    "Span",
    "SpanKind",
    "Task",
    "Tensor",
    "Timeline",
    "Violation",
    "balance",
    "baseline",
    "best",
    "check",
    "comm_sd",
    "common_table",
    "heft",
    "keeps_devices",
    "lower_bounds",
    "make_policy",
    "memory_use",
    "placement_table",
    "policy_names",
    "policy_options",
    "qd",
    "register",
    "sd",
    "simulate",
    "validate",
]
