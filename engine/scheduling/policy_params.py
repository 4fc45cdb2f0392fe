"""What ``engine serve`` is told of a policy, and the demand that follows from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from surplus.colocation.frame.planner import Demand
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.policies.names import PolicySpec, policy_spec, with_options
from surplus.colocation.profiles.measured import times_of
from surplus.colocation.profiles.measured_profile import (
    MeasuredModel,
    MeasuredProfile,
    load_measured_profile,
)
from surplus.colocation.scenarios.live_file import batches_of, checked_shares
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import ConfigError, ModelError
from surplus.engine.native import load_runtime
from surplus.engine.planning.tune_by_default import tune_by_default
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams
from surplus.engine.scheduling.measure import GroupMeasureParams, measure
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.setting_up import loaded, places, replay_backend
from surplus.engine.time_limit import time_limit

_NS_PER_MS = 1e6
_PART_OPTIONS = ("planner", "predictor")


@dataclass(frozen=True)
class PolicyParams:
    """How several models are served under a policy.

    Parameters
    ----------
    policy : str
    slos_ns : mapping of str to int
        Latency target by model.
    options : mapping
        Of the policy; ``planner.KEY`` and ``predictor.KEY`` are for those parts.
    devices : str
        As ``surplus.load``; empty is every core.
    rates_per_s : mapping of str to float
        Expected queries a second by model, 1 where not given; policies that plan by rates see the
        real ones soon.
    most_items : int
        Largest batch, and largest query, in items.
    row_limits : mapping of str to int
        The same by model, where one says so itself; 0: its queries run by themselves, of any size.
    groups : int
        Groups that models are cut into, for policies that run parts of them.
    slice_ns : int
        Or as many as it takes for none to be longer; 0 is no limit.
    max_load_s, max_query_ms : float
        How long loading and measuring a model, and computing a group of a query, may take; 0 is
        for ever.
    gpu_memory : str
        How much of each GPU's memory to use where a CPU takes part; empty is all of it.
    tune : str
        As ``BasePlanParams.tune``; the default is that of ``surplus.load``.
    any_bits : bool
        As ``LiveModelParams.any_bits``.
    profile : Path, optional
        A file of ``engine colocate profile`` to use instead of measuring at the start.
    rounds : int
        Samples of each batch, where it is measured.
    cache : Path, optional
    shares : tuple of int
        If there are any, partitions are shares of an emulated GPU's processors, and these are
        measured; ascending to 100. Without them partitions are lanes.
    compiled : mapping of str to Path
        Files of compiled versions by model.
    """

    policy: str
    slos_ns: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)
    devices: str = ""
    rates_per_s: Mapping[str, float] = field(default_factory=dict)
    most_items: int = 8
    row_limits: Mapping[str, int] = field(default_factory=dict)
    groups: int = 1
    slice_ns: int = 0
    max_load_s: float = 0.0
    max_query_ms: float = 0.0
    gpu_memory: str = ""
    tune: str = field(default_factory=tune_by_default)
    any_bits: bool = False
    profile: Path | None = None
    rounds: int = 10
    cache: Path | None = None
    shares: tuple[int, ...] = ()
    compiled: Mapping[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_shares(self.shares, "shares")
        if self.most_items < 1 or self.groups < 1:
            text = f"got {self.most_items} and {self.groups}"
            raise ConfigError(f"the largest batch and the groups must be at least 1, {text}")
        if min(self.slice_ns, self.max_load_s, self.max_query_ms) < 0:
            raise ConfigError("slice_ms, max_load_s and max_query_ms must be >= 0")
        for name, slo_ns in self.slos_ns.items():
            if slo_ns < 1:
                raise ConfigError(f"the target of {name!r} must be > 0")
        for name, rate_per_s in self.rates_per_s.items():
            if not 0 <= rate_per_s < math.inf:
                raise ConfigError(f"the rate of {name!r} must be >= 0, got {rate_per_s:g}")

    def most_of(self, name: str) -> int:
        """Rows of a batch of a model at most; 0: there is none."""
        return min(self.most_items, self.row_limits.get(name, self.most_items))

    def of_model(self, name: str) -> LiveModelParams:
        """How one of the models is made ready."""
        return LiveModelParams(
            groups=self.groups,
            slice_ns=self.slice_ns,
            plan=BasePlanParams(self.tune, self.gpu_memory, self.cache),
            any_bits=self.any_bits,
            query_limit_ns=round(self.max_query_ms * _NS_PER_MS),
            manifest=self.compiled.get(name),
        )

    def spec(self) -> PolicySpec:
        """The policy with its options.

        Raises
        ------
        ValueError
            If there is none of that name.
        """
        own: dict[str, Any] = {}
        for key, value in self.options.items():
            part, dot, rest = key.partition(".")
            if dot and part in _PART_OPTIONS:
                own.setdefault(part, {})[rest] = value
            else:
                own[key] = value
        return with_options(policy_spec(self.policy), own)

    def check_names(self, names: Sequence[str]) -> None:
        """Check that each model has a target, and nothing else has one.

        Raises
        ------
        ConfigError
            Naming the first that is wrong.
        """
        for name in names:
            if name not in self.slos_ns:
                raise ConfigError(f"model {name!r} has no latency target: --slo {name}=50ms")
        for name in (*self.slos_ns, *self.rates_per_s, *self.compiled):
            if name not in names:
                there = ", ".join(names)
                raise ConfigError(f"there is no model {name!r}; there are: {there}")


@dataclass(frozen=True)
class PreparedPolicy:
    """All that a ``PolicyService`` needs."""

    demand: Demand
    policy: PolicySpec
    models: tuple[LiveModel, ...]
    places: tuple[Place, ...]


def prepare(
    params: PolicyParams,
    files: Mapping[str, Path],
    progress: Callable[[str], None] = lambda text: None,
) -> PreparedPolicy:
    """Load models, measure what the policy needs to know of them, check the targets.

    Parameters
    ----------
    files : mapping of str to Path
        By model.

    Raises
    ------
    ConfigError
        If a name is wrong, or a target is below what its model takes alone: by how much.
    EngineError
        If a model cannot be loaded or measured.
    """
    names = tuple(files)
    params.check_names(names)
    policy = params.spec()
    load_runtime()
    specs = parse_devices(params.devices or "cpu")
    meant = [spec for spec in specs if not spec.traits.is_host] or [specs[0]]
    by_share = bool(params.shares)
    lanes = [1 if by_share else spec.lanes for spec in meant]
    stages = places(params.devices or "cpu", lanes, by_share=by_share)
    models = tuple(_loaded(name, path, stages[0], params) for name, path in files.items())
    most = tuple(params.most_of(model.name) if model.stackable else 1 for model in models)
    for model, items in zip(models, most, strict=True):
        model.know_charges(stages[0], items)
    measured = _measured(params, models, stages, most, lanes[0], progress)
    demand = Demand(
        services=tuple(
            Service(name, params.slos_ns[name], items, model.operators)
            for name, items, model in zip(names, most, models, strict=True)
        ),
        profiles=tuple(times_of(measured, name) for name in names),
        rates_per_s=tuple(params.rates_per_s.get(name, 1.0) for name in names),
        items=(1,) * len(names),
        sequences=(0,) * len(names),
        devices=tuple(
            ServingDevice(spec.name, lanes=count) for spec, count in zip(meant, lanes, strict=True)
        ),
    )
    _check_targets(demand)
    return PreparedPolicy(demand, policy, models, stages)


def _loaded(name: str, path: Path, place: Place, params: PolicyParams) -> LiveModel:
    error = ModelError(f"{path}: not loaded within max_load_s ({params.max_load_s:g} s)")
    with time_limit(params.max_load_s, error):
        model = loaded(name, path, place, params.of_model(name))
    return model if params.most_of(name) else replace(model, stackable=False)


def _measured(
    params: PolicyParams,
    models: Sequence[LiveModel],
    stages: Sequence[Place],
    most: Sequence[int],
    lanes: int,
    progress: Callable[[str], None],
) -> MeasuredProfile:
    if params.profile is None:
        rounds = GroupMeasureParams(params.rounds)
        backend = replay_backend(models, stages)
        one, own = (1,) * len(models), [batches_of((1,), items) for items in most]
        text = params.devices or "cpu"
        return measure(backend, models, one, own, lanes, text, rounds, progress, params.shares)
    known = load_measured_profile(params.profile)
    if known.by_share != bool(params.shares):
        kinds = ("lanes", "shares of processors")
        text = f"is of {kinds[known.by_share]}, partitions are to be {kinds[not known.by_share]}"
        raise ConfigError(f"{params.profile}: {text}")
    for model, items in zip(models, most, strict=True):
        if model.name not in known.models:
            raise ConfigError(f"{params.profile}: model {model.name!r} was not measured")
        largest = known.models[model.name].items[-1]
        if items > largest:
            text = f"was measured up to batches of {largest}, the largest is to be {items}"
            raise ConfigError(f"{params.profile}: model {model.name!r} {text} (--max-batch)")
        _check_versions(params.profile, model, known.models[model.name])
    return known


def _check_versions(path: Path, model: LiveModel, known: MeasuredModel) -> None:
    """Check that each version was measured, group by group, as the model is cut now."""
    groups = {len(version.groups_ms) for version in known.versions}
    if model.versions == 1 and not known.versions:
        return
    if len(known.versions) != model.versions or groups != {model.operators}:
        text = f"was measured in {len(known.versions)} versions of {max(groups, default=0)} groups"
        now = f"it has {model.versions} versions of {model.operators} groups"
        raise ConfigError(f"{path}: model {model.name!r} {text}, {now}")


def _check_targets(demand: Demand) -> None:
    share = 100 // demand.devices[0].lanes
    for index, service in enumerate(demand.services):
        try:
            alone_ns = min(demand.latency_ns(index, 1, percent) for percent in {share, 100})
        except ValueError as error:
            raise ConfigError(f"model {service.name!r}: {error}") from error
        if alone_ns > service.slo_ns:
            over_ms = (alone_ns - service.slo_ns) / 1e6
            text = f"takes {alone_ns / 1e6:.3g} ms alone, {over_ms:.3g} ms more than its target"
            raise ConfigError(f"model {service.name!r} {text}")
