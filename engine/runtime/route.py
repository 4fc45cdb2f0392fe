"""Tells who asks without Python, the front end, which plan answers a model's next query."""

from __future__ import annotations

from surplus.engine._core import Route
from surplus.engine.runtime.ports import Ports
from surplus.engine.runtime.prepared import Prepared
from surplus.engine.runtime.throughput_switch import ThroughputSwitch


def lead(
    route: Route, prepared: Prepared | None, switch: ThroughputSwitch | None, ports: Ports, who: int
) -> None:
    """Lead queries as ``Model`` does from now on.

    Parameters
    ----------
    prepared : Prepared, optional
        What answers them; None where Python has to look at each.
    switch : ThroughputSwitch, optional
        What answers them while they overlap; it leads them by itself.
    who : int
        As which model's its queries count for others, where it has no switch.
    """
    if not ports.are_computed_tensors:
        prepared = None
    if switch is not None:
        switch.lead(None if prepared is None else route, prepared)
    if prepared is None:
        route.close()
    elif switch is None:
        who = who if ports.urgency.due_after_ns else 0
        route.lead(prepared.native, who=who, is_bounded=ports.is_bounded)
