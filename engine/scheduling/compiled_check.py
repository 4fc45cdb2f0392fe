"""Compares compiled versions with ONNX Runtime, before they answer anybody."""

from __future__ import annotations

import logging
from dataclasses import replace

from surplus.engine import _core
from surplus.engine.contest.relative_difference import relative_difference
from surplus.engine.errors import ConfigError, ExecutionError
from surplus.engine.scheduling.compiled_file import Artifact
from surplus.engine.scheduling.live_model import LiveModel
from surplus.engine.scheduling.parts import Part
from surplus.engine.scheduling.place import Place
from surplus.engine.segmentation.plan_part import Resting
from surplus.engine.values import from_value

_log = logging.getLogger(__name__)

Values = dict[Resting, _core.Value | None]


def check_compiled(model: LiveModel, place: Place) -> dict[Artifact, float]:
    """Run each artifact that a device has lanes for on what its block reads of the example inputs.

    Returns
    -------
    dict
        By artifact, its largest difference from ONNX Runtime, relative to the largest number.

    Raises
    ------
    ConfigError
        If the device is no CPU, a library cannot be used, or answers differ by more than the
        artifact's tolerance; the message names library and symbol.
    """
    compiled = model.parts.compiled
    if compiled is None:
        return {}
    if not place.spec.traits.is_host:
        raise ConfigError(f"model {model.name!r}: compiled versions run on CPUs only")
    found: dict[Artifact, float] = {}
    values = _inputs(model, place)
    parts, narrow = model.parts, replace(place, width=1)
    for index in range(model.operators):
        plain = parts.part(index, index + 1, narrow, version=None)
        wanted = _answers(plain, values)
        for block in (b for b in compiled.blocks if b.first == parts.grouped.first_task(index)):
            for artifact in block.artifacts:
                if artifact.width > place.spec.lanes:
                    _log.warning("%s wants %d lanes: it is not used", artifact, artifact.width)
                    continue
                found[artifact] = _checked(model, index, place, artifact, values, wanted)
        values |= wanted
    return found


def _checked(
    model: LiveModel, index: int, place: Place, artifact: Artifact, values: Values, wanted: Values
) -> float:
    where = f"model {model.name!r}"
    try:
        wide = replace(place, width=artifact.width)
        own = _answers(model.parts.part(index, index + 1, wide, version=artifact.version), values)
    except (ExecutionError, RuntimeError) as error:
        raise ConfigError(f"{where}: {error}") from error
    answers = ((from_value(value), from_value(wanted[key])) for key, value in own.items())
    off = max(relative_difference(*pair) for pair in answers)
    if not off <= artifact.tolerance:
        text = f"differs from ONNX Runtime by {off:.3g} of the largest number"
        raise ConfigError(f"{where}: {artifact} {text}, {artifact.tolerance:g} is allowed")
    return off


def _inputs(model: LiveModel, place: Place) -> Values:
    values = model.ports.values(model.example)
    return {
        (spec.name, place.spec.memory): value
        for spec, value in zip(model.ports.inputs, values, strict=True)
    }


def _answers(part: Part, values: Values) -> Values:
    made = part.native.run([values[key] for key in part.reads])
    return dict(zip(part.makes, made, strict=True))
