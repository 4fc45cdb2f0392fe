"""Plans kept beside their model in the cache, for the next start.

The file is the SHA-256 of the plan's JSON and a line break, then that JSON: what was cut short,
damaged or edited is not used.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.atomic_file import write_atomic
from engine.dfg.graph import Graph
from engine.errors import PlacementError
from engine.native import runtime_version
from engine.profiling.devices import DeviceSpec
from engine.profiling.machine import machine_fingerprint
from engine.segmentation.plan import Plan

_log = logging.getLogger(__name__)


def plan_path(
    graph: Graph, specs: Sequence[DeviceSpec], policy: str, options: Mapping[str, Any]
) -> Path:
    """Where the plan for these devices, this policy, machine and ONNX Runtime lies."""
    key = (tuple(specs), policy, sorted(options.items()), runtime_version(), machine_fingerprint())
    return graph.folder / f"plan-{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.json"


def read_plan(path: Path, graph: Graph) -> Plan | None:
    """The stored plan, or None if there is none or it is damaged."""
    try:
        digest, _, text = path.read_text().partition("\n")
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise PlacementError("plan: damaged")
        plan = Plan.from_json(text)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError, PlacementError) as error:
        _log.warning("the stored plan %s is not used: %s", path, error)
        return None
    return plan if plan.source_hash == graph.source_hash else None


def write_plan(path: Path, plan: Plan) -> None:
    """Keep a plan, whole or not at all; a cache that cannot be written costs only that."""
    text = plan.to_json()
    digest = hashlib.sha256(text.encode()).hexdigest()
    try:
        write_atomic(path, f"{digest}\n{text}".encode())
    except OSError as error:
        _log.warning("the plan is not stored: %s", error)
