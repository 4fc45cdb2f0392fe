"""Looks whether a node can serve, before anything is started on it."""

from __future__ import annotations

import argparse

from surplus.engine.cache.private import private_folder
from surplus.engine.deployment.node_agent import AgentParams
from surplus.engine.deployment.shared_repository import open_repository
from surplus.engine.errors import EngineError, one_line


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

    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--devices")
    asked = parser.parse_known_args(serve)[0].devices
    if asked:
        parse_devices(asked)
