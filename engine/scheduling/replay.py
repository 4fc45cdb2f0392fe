"""A scenario on the engine: the same policies, queries and figures as in its simulation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from surplus.colocation.frame.load import Load
from surplus.colocation.live.run import serve_live
from surplus.colocation.policies.names import PolicySpec
from surplus.colocation.profiles.measured_profile import MeasuredProfile
from surplus.colocation.results.comparison import Compared, compare
from surplus.colocation.scenarios.live_file import ToMeasure
from surplus.colocation.scenarios.scenario import Scenario
from surplus.colocation.simulation.simulator import Run, Setting, simulate
from surplus.engine.errors import ConfigError
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.measure import GroupMeasureParams, measure
from surplus.engine.scheduling.rehearsal import rehearse
from surplus.engine.scheduling.setting_up import load_models, places, replay_backend


def backend_of(scenario: Scenario, cache: Path | None = None) -> EngineBackend:
    """Load a scenario's models on its devices.

    Raises
    ------
    ConfigError
        If it says nothing of a live run, or its devices do not fit.
    EngineError
        If a model cannot be loaded.
    """
    if scenario.live is None:
        text = "no table [live], which says with what models on what devices"
        raise ConfigError(f"{scenario.name}: {text}")
    lanes = [device.lanes for device in scenario.devices]
    devices = places(scenario.live.devices, lanes, by_share=bool(scenario.live.shares))
    names = [service.name for service in scenario.services]
    operators = [service.operators for service in scenario.services]
    models = load_models(scenario.live, names, operators, devices[0], cache)
    for model, service in zip(models, scenario.services, strict=True):
        model.know_charges(devices[0], service.max_batch)
    return replay_backend(models, devices)


def measure_scenario(
    asked: ToMeasure,
    params: GroupMeasureParams | None = None,
    cache: Path | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> MeasuredProfile:
    """Measure the models of a scenario on its first device.

    Raises
    ------
    ConfigError
        If its devices do not fit.
    EngineError
        If a model cannot be loaded, or fails.
    """
    live, lanes = asked.live, asked.lanes[0]
    devices = places(live.devices, asked.lanes, by_share=bool(live.shares))
    models = load_models(live, asked.names, asked.operators, devices[0], cache)
    backend = replay_backend(models, devices)
    work = (models, asked.items, asked.batches)
    return measure(backend, *work, lanes, live.devices, params, progress, live.shares)


def compare_live(
    scenario: Scenario, policies: Sequence[str], backend: EngineBackend
) -> tuple[Load, list[Compared]]:
    """Serve a scenario live under each policy, one after the other.

    Raises
    ------
    ValueError
        As ``compare``.
    """

    def runner(setting: Setting, policy: PolicySpec) -> Run:
        simulated = simulate(setting, policy)
        rehearse(backend, simulated, setting.load, setting.demand.services)
        return serve_live(setting, policy, backend)

    return compare(scenario, policies, runner)
