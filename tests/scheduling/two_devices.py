"""Models under policies on a CPU and an EMULATED GPU, and the same models alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surplus import models
from surplus.colocation.policies.names import policy_spec
from surplus.engine.pipeline.load import load_planned
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.scheduling.policy_params import PolicyParams, PreparedPolicy, prepare
from surplus.engine.scheduling.policy_service import PolicyService

HOST, GPU = 0, 1
DEVICES = "cpu:1,emulated:gpu[replay]:4"
SLO_NS = 60_000_000_000


def saved(folder: Path, names: Sequence[str], **options: Mapping[str, Any]) -> dict[str, Path]:
    """The models' files; options by name."""
    return {
        name: models.save(models.build(name, **options.get(name, {})), folder / f"{name}.onnx")
        for name in names
    }


def under_policies(files: Mapping[str, Path], groups: int, gpu_memory: str) -> PreparedPolicy:
    """All of them, ready for any policy."""
    params = PolicyParams(
        policy="edf",
        slos_ns=dict.fromkeys(files, SLO_NS),
        devices=DEVICES,
        groups=groups,
        most_items=1,
        rounds=1,
        gpu_memory=gpu_memory,
        cache=_cache(files),
    )
    return prepare(params, files)


def each_alone(files: Mapping[str, Path], gpu_memory: str) -> dict[str, PlannedModel]:
    """Each with the plan whose segments the policies run, on one stream."""
    devices = DEVICES.replace(":4", ":1")
    return {
        name: load_planned(path, devices, cache=_cache(files), gpu_memory=gpu_memory)
        for name, path in files.items()
    }


def rounds(prepared: PreparedPolicy, policy: str, count: int) -> list[list[dict[str, Any]]]:
    """Answers to one query of each model at a time: a batch of several rounds otherwise."""
    return asyncio.run(_rounds(prepared, policy, count))


async def _rounds(prepared: PreparedPolicy, policy: str, count: int) -> list[list[dict[str, Any]]]:
    service = PolicyService(prepared.demand, policy_spec(policy), prepared.models, prepared.places)
    try:
        return [
            await asyncio.gather(
                *(
                    service.submit(index, model.example).answer
                    for index, model in enumerate(prepared.models)
                )
            )
            for _ in range(count)
        ]
    finally:
        service.close()


def _cache(files: Mapping[str, Path]) -> Path:
    return next(iter(files.values())).parent / "cache"
