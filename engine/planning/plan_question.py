"""What a plan was made for: a plan of anything else must not be run."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from surplus.engine.devices.host import this_machine
from surplus.engine.devices.spec import DeviceSpec
from surplus.engine.dfg.graph import Graph
from surplus.engine.examples.open_sizes import open_sizes
from surplus.engine.native import load_runtime


@dataclass(frozen=True)
class PlanQuestion:
    """Everything that a plan's segments and their choice depend on, as JSON has it.

    Parameters
    ----------
    model, graph : str
        Hash of the user's file, and of the tasks and tensors that it became.
    runtime : str
        Version of ONNX Runtime.
    machine : mapping
        ``cpu``, ``cores``, ``architecture`` and ``driver``, and by name of each plugin provider
        what it drives.
    devices : tuple of str
        As the user named them.
    policy, options : str, mapping
        Placement policy and its options.
    sizes : mapping
        Shapes of the example inputs that the model leaves open, by input name.
    """

    model: str
    graph: str
    runtime: str
    machine: Mapping[str, Any]
    devices: tuple[str, ...]
    policy: str
    options: Mapping[str, Any]
    sizes: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As JSON reads it back."""
        raw = {f.name: getattr(self, f.name) for f in fields(self)}
        found: dict[str, Any] = json.loads(json.dumps(raw, sort_keys=True, default=repr))
        return found

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """What differs in a stored question, one phrase each; empty if nothing does."""
        mine, found = _flat(self.to_dict()), _flat(dict(other))
        return [
            f"{name} is {_short(found.get(name))} there and {_short(mine.get(name))} here"
            for name in sorted({*mine, *found})
            if mine.get(name) != found.get(name)
        ]


def question_of(
    graph: Graph,
    specs: Sequence[DeviceSpec],
    policy: str,
    options: Mapping[str, Any],
    inputs: Mapping[str, Any],
) -> PlanQuestion:
    """What is asked here and now.

    Parameters
    ----------
    inputs : mapping
        Example inputs; only shapes that the model leaves open count.
    """
    here = this_machine()
    return PlanQuestion(
        model=graph.source_hash,
        graph=graph.summary.digest,
        runtime=load_runtime(),
        machine={
            "cpu": here.cpu,
            "cores": here.cores,
            "architecture": platform.machine(),
            "driver": here.driver,
            **_provided(specs),
        },
        devices=tuple(spec.text for spec in specs),
        policy=policy,
        options=options,
        sizes=open_sizes(graph, inputs),
    )


def _provided(specs: Sequence[DeviceSpec]) -> dict[str, str]:
    """What drives the devices here, where plans depend on that."""
    found = {spec.name: spec.driven_by() for spec in specs}
    return {name: text for name, text in found.items() if text}


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings inside become dotted names, so that a difference is named exactly."""
    found: dict[str, Any] = {}
    for name, value in raw.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            found[name] = value
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
