"""Which of a server's devices a model's ``instance_group`` leaves it."""

from __future__ import annotations

import logging
import re
from typing import Any

from surplus.engine.devices.spec import kind_named, kind_of
from surplus.engine.repository.config_message import enum_name
from surplus.engine.repository.model_config import ModelConfig

_log = logging.getLogger(__name__)


def devices_for(config: ModelConfig | None, devices: str) -> str:
    """The devices that a model is loaded onto, out of those of the server, in its words.

    ``KIND_CPU`` leaves the CPU alone; ``KIND_GPU`` the CPU, which takes part in every plan, and the
    GPUs that ``gpus`` counts, in the order in which the server was given them; all of them where
    it counts none. Where a GPU is not there a warning says so, and the model runs on what is.
    """
    if config is None or not config.message.instance_group:
        return devices
    parts = re.split(r",(?![^\[]*\])", devices) if devices else []
    gpus = [part for part in parts if not _is_host(part)]
    kept: set[str] = set()
    for index, group in enumerate(config.message.instance_group):
        kind = enum_name("ModelInstanceGroup.Kind", group.kind)
        if kind == "KIND_GPU":
            kept |= _counted(config, f"instance_group[{index}]", group, gpus)
        elif kind != "KIND_CPU":
            kept |= {gpus[number] for number in group.gpus if number < len(gpus)} or set(gpus)
    return ",".join(part for part in parts if part in kept or _is_host(part))


def _counted(config: ModelConfig, at: str, group: Any, gpus: list[str]) -> set[str]:
    if not gpus:
        _log.warning("%s: KIND_GPU, but the server has no GPU", config.lines.place(f"{at}.kind"))
        return set()
    if missing := [number for number in group.gpus if number >= len(gpus)]:
        place = config.lines.place(f"{at}.gpus")
        _log.warning("%s: GPU %d, but the server has %d", place, missing[0], len(gpus))
    return {gpus[number] for number in group.gpus if number < len(gpus)} or set(gpus)


def _is_host(part: str) -> bool:
    return kind_named(kind_of(part.strip())).traits.is_host
