"""Looks whether a node can serve, before anything is started on it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from surplus.engine.cache.private import private_folder
from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.shared_repository import open_repository
from surplus.engine.errors import DeviceError, EngineError, one_line

_EVERYWHERE = ("cpu", "emulated")
"""Kinds of devices that every machine has."""


def probe(params: AgentParams) -> str:
    """What is wrong with the repository, the devices or the folder there; empty if nothing is."""
    try:
        open_repository(params.repository)
        _check_devices(params.serve)
        private_folder(params.own_folder)
    except (EngineError, OSError) as error:
        return one_line(error)
    return ""


def _check_devices(serve: tuple[str, ...]) -> None:
    from surplus.engine.devices.parsing import parse_devices
    from surplus.engine.devices.spec import kind_named

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--devices")
    asked = parser.parse_known_args(serve)[0].devices
    for spec in parse_devices(asked) if asked else ():
        if spec.kind not in _EVERYWHERE:
            _check_here(spec.name, kind_named(spec.kind).inventory())


def _check_here(name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Whether a device is among those that a machine has, and can be used.

    Raises
    ------
    DeviceError
        If not, with why, or what there is.
    """
    known = list(rows)
    found = [row for row in known if str(row["device"]).partition("[")[0] == name]
    if not found:
        there = ", ".join(str(row["device"]) for row in known) or "none of its kind"
        raise DeviceError(f"device {name!r} is not here; there is {there}")
    if found[0]["usable"] != "yes":
        raise DeviceError(f"device {name!r}: {found[0]['usable']}")
