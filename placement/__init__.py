"""Where and in which order the tasks of a graph run: problem, policies, simulator, judge, bounds.

Knows nothing of ONNX: any task graph can be a ``Problem``. A policy maps it to a ``Placement``,
``simulate`` predicts the ``Timeline``, ``validate`` judges one, ``lower_bounds`` says what is left
to gain, ``placement_table`` compares. Names are resolved on first use: who only reads a stored plan
needs a timeline, and none of the policies.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surplus.placement import anneal, balance, baseline, best, comm_sd, heft, qd, sd
    from surplus.placement.bounds import Bounds, ContradictionError, check_bound, lower_bounds
    from surplus.placement.field_checks import ProblemError
    from surplus.placement.fit_memory import InfeasibleError
    from surplus.placement.hold_search import with_holds
    from surplus.placement.holds import CopyHold, Hold
    from surplus.placement.memory import MemoryUse, memory_use
    from surplus.placement.placement import Placement
    from surplus.placement.policy import (
        Policy,
        keeps_devices,
        make_policy,
        policy_names,
        policy_options,
        register,
    )
    from surplus.placement.problem import Blob, Device, Link, Problem, Task, Tensor
    from surplus.placement.simulator import SimulatorParams, simulate
    from surplus.placement.table import (
        CommonRow,
        DeviceColumn,
        PlacementRow,
        common_table,
        placement_table,
    )
    from surplus.placement.timeline import Span, SpanKind, Timeline
    from surplus.placement.validator import check, validate
    from surplus.placement.violation import Rule, Violation

__all__ = [
    "Blob",
    "Bounds",
    "CommonRow",
    "ContradictionError",
    "CopyHold",
    "Device",
    "DeviceColumn",
    "Hold",
    "InfeasibleError",
    "Link",
    "MemoryUse",
    "Placement",
    "PlacementRow",
    "Policy",
    "Problem",
    "ProblemError",
    "Rule",
    "SimulatorParams",
    "Span",
    "SpanKind",
    "Task",
    "Tensor",
    "Timeline",
    "Violation",
    "anneal",
    "balance",
    "baseline",
    "best",
    "check",
    "check_bound",
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
    "with_holds",
]

_HOMES = {
    "Blob": "problem",
    "Bounds": "bounds",
    "CommonRow": "table",
    "ContradictionError": "bounds",
    "CopyHold": "holds",
    "Device": "problem",
    "DeviceColumn": "table",
    "Hold": "holds",
    "InfeasibleError": "fit_memory",
    "Link": "problem",
    "MemoryUse": "memory",
    "Placement": "placement",
    "PlacementRow": "table",
    "Policy": "policy",
    "Problem": "problem",
    "ProblemError": "field_checks",
    "Rule": "violation",
    "SimulatorParams": "simulator",
    "Span": "timeline",
    "SpanKind": "timeline",
    "Task": "problem",
    "Tensor": "problem",
    "Timeline": "timeline",
    "Violation": "violation",
    "check": "validator",
    "check_bound": "bounds",
    "common_table": "table",
    "keeps_devices": "policy",
    "lower_bounds": "bounds",
    "make_policy": "policy",
    "memory_use": "memory",
    "placement_table": "table",
    "policy_names": "policy",
    "policy_options": "policy",
    "register": "policy",
    "simulate": "simulator",
    "validate": "validator",
    "with_holds": "hold_search",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return import_module(f"{__name__}.{name}")
