"""What lanes ran over the last seconds, as the status page draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

from surplus.engine.devices.machines import open_machines
from surplus.engine.errors import ConfigError, InputError
from surplus.engine.explain.flights import Flights, LaneKind, NodeField
from surplus.engine.runtime import flight_log

WINDOW_S = 2.0
MOST_SPANS = 2_000
"""Of a machine, the last ones: more are not seen on a screen."""

_KINDS = {LaneKind.LANE: "lane", LaneKind.BORROWED: "lent", LaneKind.BEST_EFFORT: "best_effort"}


def document(window_s: float = 0.0) -> dict[str, Any]:
    """Machines, each with its models and the spans of their segments; 0 is 2 seconds.

    A span is ``[device, kind of lane, lane, start_ns, duration_ns, model, segment, width]``; its
    model and segment are places in ``models`` and ``segments``, its start is counted from
    ``since_ns``, and it occupied that lane and the next ones, ``width`` of them.

    Raises
    ------
    InputError
        If the window is out of range.
    """
    window_s = window_s or WINDOW_S
    try:
        flight_log.check_window(window_s)
    except ConfigError as error:
        raise InputError(str(error)) from error
    found = (flight_log.flights(machine, window_s) for machine in open_machines())
    return {"window_s": window_s, "machines": [_machine(flights) for flights in found]}


def _machine(flights: Flights) -> dict[str, Any]:
    nodes = flights.by_start[-MOST_SPANS:]
    since_ns = flights.since_ns
    if len(nodes) == MOST_SPANS:  # older ones are left out: what is drawn begins with these
        since_ns = max(since_ns, int(nodes[0, NodeField.START]))
    keys, place = np.unique(nodes[:, (NodeField.PLAN, NodeField.NODE)], axis=0, return_inverse=True)
    place = place.reshape(-1)
    models: dict[str, int] = {}
    segments: dict[str, int] = {}
    of_key = np.array(
        [
            (
                models.setdefault(flights.label(plan), len(models)),
                segments.setdefault(_segment(flights, plan, node), len(segments)),
                flights.width(plan, node),
            )
            for plan, node in keys.tolist()
        ],
        np.int64,
    ).reshape(-1, 3)
    columns = (
        nodes[:, NodeField.DEVICE].tolist(),
        [_KINDS[LaneKind(kind)] for kind in nodes[:, NodeField.KIND].tolist()],
        nodes[:, NodeField.LANE].tolist(),
        (nodes[:, NodeField.START] - since_ns).tolist(),
        (nodes[:, NodeField.END] - nodes[:, NodeField.START]).tolist(),
        *of_key[place].T.tolist(),
    )
    return {
        "devices": [{"name": name, "lanes": lanes} for name, lanes in flights.devices],
        "since_ns": since_ns,
        "now_ns": flights.now_ns,
        "models": list(models),
        "segments": list(segments),
        "spans": list(zip(*columns, strict=True)),
    }


def _segment(flights: Flights, number: int, node: int) -> str:
    plan = flights.plans.get(number)
    if plan is None or node >= len(plan.nodes):
        return f"segment {node}"
    return plan.nodes[node].name
