"""The GPU's name, asked of the driver in a process beside: one that hangs there is ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.gpu_check.parts import ModelSpec, Part
from bench.gpu_check.setting import Setting, folder_name, gpu_title
from bench.gpu_check.store import BEGUN, PartStore
from bench.gpu_check.unit import run_unit
from surplus.engine.errors import DeviceError

DRIVER = Part("driver", (ModelSpec("none"),), unit_s=1, limit_s=30)

UNKNOWN = "unknown-gpu"
"""Folder of what the driver's part came to where it gave no answer."""


class DriverFailedError(Exception):
    """The driver hung or crashed; says which."""


def asked_title(
    devices: str, work: Path, results: Path, machine: Mapping[str, Any], part: Part = DRIVER
) -> str:
    """The GPU's title; its part's result goes to its folder, that of no answer to ``UNKNOWN``.

    Raises
    ------
    DeviceError
        If something is missing; it says what.
    DriverFailedError
        If the driver gave no answer.
    """
    setting = Setting(devices, work, results / UNKNOWN, part.unit_s)
    if setting.is_emulated:
        return gpu_title(setting.specs)
    unknown = _store(setting, part, {**machine, "gpu": "unknown"})
    unknown.keep("none", {"error": BEGUN})
    found = run_unit(part, "none", setting, part.limit_s or part.unit_s)
    unknown.keep("none", found)
    if "error" in found:
        raise DriverFailedError(f"CUDA's driver gave no answer: {found['error']}")
    (setting.results / f"{part.name}.json").unlink()
    if not any(setting.results.iterdir()):
        setting.results.rmdir()
    if "missing" in found["details"]:
        raise DeviceError(found["details"]["missing"])
    title: str = found["details"]["title"]
    named = replace(setting, results=results / folder_name(title))
    _store(named, part, {**machine, "gpu": title}).keep("none", found)
    return title


def _store(setting: Setting, part: Part, machine: Mapping[str, Any]) -> PartStore:
    path = setting.results / f"{part.name}.json"
    return PartStore(path, machine, {"devices": setting.devices})
