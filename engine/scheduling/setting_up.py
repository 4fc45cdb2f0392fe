"""From what a scenario says of its live run to a backend that computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache as remembered
from pathlib import Path

from surplus.colocation.frame.query import Query
from surplus.colocation.scenarios.scenario import LiveSettings
from surplus.engine.cache_folder import cache_folder
from surplus.engine.devices.emulation_params import EmulationParams
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.errors import ConfigError
from surplus.engine.native import load_runtime
from surplus.engine.scheduling.backend import EngineBackend
from surplus.engine.scheduling.base_plan import BasePlanParams
from surplus.engine.scheduling.compiled_check import check_compiled
from surplus.engine.scheduling.live_model import LiveModel, LiveModelParams, load_live_model
from surplus.engine.scheduling.place import Place
from surplus.engine.scheduling.stacking import Arrays

MOST_SHARES = 100
"""Of a device that run side by side: a hundredth is the smallest."""


def places(
    text: str,
    lanes: Sequence[int],
    emulation: EmulationParams | None = None,
    by_share: bool = False,
) -> tuple[Place, ...]:
    """The devices that a scenario means: the GPUs of a device string, its CPU if it has none.

    Where the string names a CPU besides, that takes part in the plans of the GPUs.

    Parameters
    ----------
    lanes : sequence of int
        By device of the scenario.
    by_share : bool
        Whether partitions are shares of the devices' processors: each has a stream of its own
        then, whatever the string says, and they do not slow each other.

    Raises
    ------
    ConfigError
        If there are more or fewer, one has fewer lanes, or one cannot be divided by shares.
    DeviceError
        If the string is not understood.
    """
    specs = list(parse_devices(text))
    meant = [i for i, spec in enumerate(specs) if not spec.traits.is_host] or [0]
    if len(meant) != len(lanes):
        raise ConfigError(f"devices {text!r} are {len(meant)}, the scenario has {len(lanes)}")
    for index, count in zip(meant, lanes, strict=True):
        if specs[index].lanes < count:
            name, found = specs[index].name, specs[index].lanes
            raise ConfigError(f"device {name!r} has {found} lanes, not {count}")
    if by_share:
        if any(not specs[index].traits.is_emulated for index in meant):
            raise ConfigError(f"devices {text!r}: only emulated GPUs have shares of processors")
        emulation = replace(emulation or EmulationParams(), slowdown=())
        for index in meant:
            specs[index] = replace(specs[index], lanes=MOST_SHARES)
    machine = machine_for(specs, emulation)
    with_host = any(part.strip().startswith("cpu") for part in text.split(","))
    return tuple(
        Place(
            machine,
            specs[index],
            index,
            tuple(specs),
            by_share=by_share,
            with_host=with_host and not specs[index].traits.is_host,
        )
        for index in meant
    )


def load_models(
    live: LiveSettings,
    names: Sequence[str],
    operators: Sequence[int],
    place: Place,
    cache: Path | None = None,
) -> tuple[LiveModel, ...]:
    """Read the models of all services, each cut into its groups; check what is compiled."""
    load_runtime()
    compiled = live.compiled or ("",) * len(names)
    rows = zip(names, live.models, operators, compiled, strict=True)
    return tuple(
        loaded(
            name,
            model_file(model, cache),
            place,
            LiveModelParams(
                count,
                plan=BasePlanParams(cache=cache),
                manifest=Path(file) if file else None,
            ),
        )
        for name, model, count, file in rows
    )


def loaded(name: str, path: Path, place: Place, params: LiveModelParams) -> LiveModel:
    """As ``load_live_model``; its compiled versions, if any, answer as ONNX Runtime on a device."""
    model = load_live_model(name, path, place, params)
    check_compiled(model, place)
    return model


def replay_backend(models: Sequence[LiveModel], devices: Sequence[Place]) -> EngineBackend:
    """A backend whose queries bring example inputs, and whose answers nobody reads."""

    @remembered
    def of(service: int, items: int) -> Arrays:
        return models[service].inputs(items)

    def inputs(query: Query) -> Arrays:
        return of(query.service, query.items)

    return EngineBackend(models, devices, inputs)


def model_file(name: str, cache: Path | None = None) -> Path:
    """The file of a model; a network that comes with the engine is built once, in the cache.

    Raises
    ------
    ConfigError
        If it is neither.
    """
    if name.endswith(".onnx"):
        return Path(name)
    from surplus import models

    path = (cache or cache_folder()) / "models" / f"{name}.onnx"
    if not path.exists():
        try:
            info = models.info(name)
        except (KeyError, ValueError) as error:
            raise ConfigError(f"model {name!r} is no file and no network: {error}") from error
        path.parent.mkdir(parents=True, exist_ok=True)
        models.save(info.build(), path)
    return path
