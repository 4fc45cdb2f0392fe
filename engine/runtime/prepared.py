"""A plan and the core's form of it: what a query needs all of, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from surplus.engine.runtime.lowering import lower

if TYPE_CHECKING:
    from surplus.engine import _core
    from surplus.engine.dfg.graph import Graph
    from surplus.engine.runtime.ports import Ports
    from surplus.engine.segmentation.plan import Plan


class Prepared(NamedTuple):
    """A plan that a machine can run. A model swaps it whole, so that no query mixes two.

    Parameters
    ----------
    machine : _core.Machine
        That it was prepared for.
    native : _core.Plan
        Holds its machine and sessions.
    query : _core.Query, optional
        Its path for plain arrays, where the model has one.
    lanes : mapping of str to int
        Lanes of the machine, by device.
    """

    plan: Plan
    machine: _core.Machine
    native: _core.Plan
    query: _core.Query | None
    lanes: Mapping[str, int]


def prepare(graph: Graph, plan: Plan, machine: _core.Machine, ports: Ports) -> Prepared:
    """Open the plan's sessions; takes as long as these.

    Raises
    ------
    ExecutionError
        If ONNX Runtime refuses a segment; the message names it.
    """
    native = lower(graph, plan, machine)
    native.limit_time(ports.time_limit_ns)
    native.share_with(ports.share)
    native.be_measured()
    ports.urgency.of(native)
    native.be_called(ports.label, ports.serves)
    ports.stacks.apply(native, plan)
    if ports.room is not None:
        native.wait_in(ports.room)
    lanes = {row["name"]: row["lanes"] for row in machine.stats()["devices"]}
    return Prepared(plan, machine, native, ports.query(native), lanes)


def devices_text(lanes: Mapping[str, int]) -> str:
    """Devices as a user names them, of their lanes by name."""
    return ",".join(f"{name}:{count}" for name, count in lanes.items())
