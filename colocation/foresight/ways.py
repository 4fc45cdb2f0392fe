"""The ways of serving that are tried: our own columns first, then those of the papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from surplus.colocation.frame.planner import Demand
from surplus.colocation.policies.names import PolicySpec, policy_spec

_MOST = 1000
"""Divisions of devices that are tried, at most: a fraction of a second."""

_FINE: dict[str, object] = {"levels": 12}
_OWN: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "columns": ("columns", {}, {}),
    "columns_coarse": ("columns", {"gain": 0.25}, {}),
    "columns_urgent": ("columns", {}, {"patience": 0.5}),
    "columns_wide": ("columns", {}, {"width": 0.5}),
    "columns_thrifty": ("columns", {}, {"width": 0.9, "patience": 4.0}),
    "columns_filled": ("columns", {}, {"fill": 0.5}),
    "columns_apart": ("columns", {}, {"groups": False}),
    "columns_greedy": ("columns", {}, {"look_ahead": False}),
    "columns_short": ("columns", {}, {"blocking": 0.5}),
    "columns_sure": ("columns", {}, {"sure": 0.99}),
    "columns_scarce": ("columns", {}, {"attainable": 0.65}),
    "columns_scarcer": ("columns", {}, {"attainable": 0.4}),
    "columns_short_scarce": ("columns", {}, {"blocking": 0.5, "attainable": 0.65}),
    "columns_fine": ("columns", _FINE, {"width": 0.9, "attainable": 0.8, "reserve": False}),
    "columns_fine_short": ("columns", _FINE, {"patience": 1.0, "blocking": 0.5, "thrift": 1.3}),
    "columns_fine_sure": (
        "columns",
        _FINE,
        {"width": 0.5, "blocking": 0.5, "attainable": 0.8, "sure": 0.99},
    ),
    "columns_fine_urgent": (
        "columns",
        _FINE,
        {
            "patience": 0.5,
            "fill": 0.3,
            "blocking": 0.5,
            "attainable": 0.35,
            "sure": 0.7,
            "reserve": False,
        },
    ),
    "columns_steady": (
        "columns",
        {"gain": 0.25, "steady": True},
        {
            "patience": 0.5,
            "width": 1.0,
            "blocking": 1.0,
            "thrift": 2.0,
            "attainable": 0.5,
            "sure": 0.7,
            "reserve": False,
        },
    ),
    "lanes": ("whole", {}, {}),
    "gpulets": ("gpulet", {}, {}),
    "gpulets_scarce": ("gpulet", {}, {"attainable": 0.4}),
    "ideal_scarce": ("gpulet_ideal", {"most": _MOST}, {"attainable": 0.4}),
    "static": ("knee_shares", {"static": True}, {}),
}
"""Planner, its options, and those of ``priced``."""

_WAYS: dict[str, PolicySpec] = {
    name: PolicySpec(name, "priced", options, planner, planner_options)
    for name, (planner, planner_options, options) in _OWN.items()
}
_WAYS["ideal"] = PolicySpec("ideal", "duty_cycle", {}, "gpulet_ideal", {"most": _MOST})
"""Those that are no policies by themselves."""

_OTHERS = (
    "max_throughput_drop",
    "gpulet_int",
    "ideal",
    "clockwork",
    "edf_drop",
    "sjf_drop",
    "dstack_fill",
    "dstack_at_knee",
    "gslice_drop",
    "nexus",
)
_OF_PARTS = ("core_order",)
"""They run operators one by one. No latency model of groups was trained on that: for those of a
query one says two thirds of what it takes, another three times as much."""
_OF_GROUPS = ("abacus", "abacus_pipelined")
_OF_CORES = ("prema", "planaria", "veltair", "veltair_scheduling_only", "layer_wise_extra")


def way(name: str) -> PolicySpec:
    """What a way of serving is made of.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    return _WAYS[name] if name in _WAYS else policy_spec(name)


def ways_for(demand: Demand, groups: bool) -> list[str]:
    """Names of the ways that may be worth trying; the first of equals is preferred.

    Parameters
    ----------
    groups : bool
        Whether the predictor has a latency model of groups.
    """
    lanes = any(device.lanes > 1 for device in demand.devices)
    found = [*_OWN, *_OTHERS]
    if not lanes:
        found = [name for name in found if not name.startswith("lanes")]
    if groups:
        found += _OF_GROUPS
    elif any(service.operators > 1 for service in demand.services):
        found += _OF_PARTS
    if any(device.cores for device in demand.devices):
        found += _OF_CORES
    return found


def on_demand(ways: Iterable[str]) -> list[str]:
    """Our own on devices that are not divided for the rates of the moment."""
    return [name for name in ways if name in _OWN and _OWN[name][0] == "columns"]


def of_ours(ways: Iterable[str]) -> list[str]:
    """Tempers of our own rule."""
    return [name for name in ways if name in _OWN]


def of_papers(ways: Iterable[str]) -> list[str]:
    """Those that are none."""
    return [name for name in ways if name not in _OWN]


def told(spec: PolicySpec, name: str, options: Mapping[str, object]) -> PolicySpec:
    """A way with the predictor of the policy that chooses among ways."""
    return replace(spec, predictor=name, predictor_options=options)
