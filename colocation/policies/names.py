"""Policies by name: a planner, a dispatcher, a predictor, and their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from surplus.colocation.frame.registry import Registry

Options = Mapping[str, Any]


@dataclass(frozen=True)
class PolicySpec:
    """What a policy is made of; the names are those of the registries.

    Parameters
    ----------
    shared : tuple of str
        Options of the dispatcher that its planner is told, too.
    weighs : bool
        Whether the dispatcher has an option ``weights``: what a query is worth, by service.
    """

    name: str
    dispatcher: str
    dispatcher_options: Options = field(default_factory=dict)
    planner: str = "whole"
    planner_options: Options = field(default_factory=dict)
    predictor: str = "serial"
    predictor_options: Options = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    weighs: bool = False

    @property
    def runs_parts(self) -> bool:
        """Whether it runs parts of models: elsewhere a model is one group however it is cut."""
        return self.dispatcher in _RUN_PARTS


_RUN_PARTS = ("abacus", "core_order", "layer_blocks", "planaria", "prema")
"""Dispatchers."""

_POLICIES: Registry[PolicySpec] = Registry("policy")


def add_policy(spec: PolicySpec) -> None:
    """Make a policy available by its name."""
    _POLICIES.register(spec.name)(lambda: spec)


def policy_names() -> list[str]:
    """Names of all policies, in order of registration."""
    return _POLICIES.names()


def policy_spec(name: str) -> PolicySpec:
    """Look a policy up.

    Raises
    ------
    ValueError
        If there is none of that name.
    """
    return _POLICIES.get(name)()


def with_options(spec: PolicySpec, own: Options) -> PolicySpec:
    """Add options: tables ``planner`` and ``predictor`` are for those parts, the rest is not.

    ``kind`` in such a table replaces the part, and with it the options that it had.

    Raises
    ------
    ValueError
        If one of them is no table; the message names the policy.
    """
    rest = dict(own)
    for part in ("planner", "predictor"):
        table = rest.pop(part, {})
        if not isinstance(table, Mapping):
            raise ValueError(f"policy {spec.name!r}: {part} must be a table, got {table!r}")
        table = dict(table)
        kind = table.pop("kind", None)
        before = {} if kind is not None else getattr(spec, f"{part}_options")
        changed = {part: kind or getattr(spec, part), f"{part}_options": {**before, **table}}
        spec = replace(spec, **changed)
    shared = {name: rest[name] for name in spec.shared if name in rest}
    return replace(
        spec,
        dispatcher_options={**spec.dispatcher_options, **rest},
        planner_options={**spec.planner_options, **shared},
    )


for _name in ("fcfs", "sjf", "edf", "temporal", "fixed_batch"):
    add_policy(PolicySpec(_name, _name))
    add_policy(PolicySpec(f"{_name}_drop", _name, {"drop": True}))
for _name in ("fcfs", "sjf", "edf"):
    add_policy(PolicySpec(f"{_name}_expired", _name, {"expired": True}))
add_policy(PolicySpec("fcfs_rounds", "rounds", {"expired": True}))
add_policy(PolicySpec("sjf_rounds", "rounds", {"expired": True, "order": "time"}))
add_policy(PolicySpec("clockwork", "clockwork"))
add_policy(PolicySpec("core_order", "core_order"))
add_policy(PolicySpec("nexus", "duty_cycle", planner="nexus"))
for _name, _dispatcher, _options in (
    ("gslice", "temporal", {"static": True}),
    ("max_throughput", "max_throughput", {}),
    ("max_min", "max_min", {}),
):
    add_policy(PolicySpec(_name, _dispatcher, {}, "knee_shares", _options))
    add_policy(PolicySpec(f"{_name}_drop", _dispatcher, {"drop": True}, "knee_shares", _options))
for _name, _options in (("abacus", {}), ("abacus_pipelined", {"pipelined": True})):
    add_policy(PolicySpec(_name, "abacus", _options, "whole", {"lanes": False}, "overlap"))
for _name, _planner, _options in (
    ("squishy", "squishy", {}),
    ("squishy_halves", "squishy", {"halves": True}),
    ("greedy_best_fit", "greedy_best_fit", {}),
    ("gpulet", "gpulet", {"interference": False}),
    ("gpulet_int", "gpulet", {}),
    ("gpulet_ideal", "gpulet_ideal", {}),
):
    add_policy(PolicySpec(_name, "duty_cycle", planner=_planner, planner_options=_options))
for _name in ("slices", "slices_drop"):
    add_policy(PolicySpec(_name, "slices", {"drop": _name == "slices_drop"}))
_DSTACK: Options = {"spare_percent": 5, "reduced": 0.6}
"""As the paper has it: shares of 5 to 10 % more than the knee, instances below it for gaps."""
for _name, _turns, _shares in (
    ("dstack", {}, _DSTACK),
    ("dstack_plain", {"fill": False}, _DSTACK),
    ("dstack_fill", {"turns": False}, _DSTACK),
    ("dstack_at_knee", {}, {}),
):
    add_policy(PolicySpec(_name, "dstack", _turns, "dstack", _shares))
add_policy(PolicySpec("dstack_temporal", "dstack", {"turns": False}, "dstack", {"whole": True}))
_BLOCKS: dict[str, Options] = {
    "model_wise": {"granularity": "model"},
    "model_wise_extra": {"granularity": "model", "extra": 0.15},
    "layer_wise": {"granularity": "fixed", "grow": "eager"},
    "layer_wise_extra": {"granularity": "fixed", "extra": 0.15},
    "blocks_6": {"granularity": "fixed", "layers": 6, "grow": "eager"},
    "blocks_11": {"granularity": "fixed", "layers": 11, "grow": "eager"},
    "veltair_compilation_only": {"granularity": "fixed", "grow": "eager", "versions": True},
    "veltair_scheduling_only": {"extra": 0.15},
    "veltair": {"extra": 0.15, "versions": True},
}
for _name, _own in _BLOCKS.items():
    add_policy(PolicySpec(_name, "layer_blocks", _own, "cores", predictor="layers"))
for _name in ("planaria", "prema"):
    add_policy(PolicySpec(_name, _name, {}, "cores", predictor="layers"))
