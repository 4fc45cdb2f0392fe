"""The steps of an ensemble as one ONNX graph: what goes from one to the next is no message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from surplus.engine.ensembles.ensemble import Ensemble
from surplus.engine.ensembles.opsets import OpsetError, opsets_of, with_equal_opsets
from surplus.engine.ensembles.part import StepPart
from surplus.engine.ensembles.sizes import EqualSizes, Mismatch, join_types
from surplus.engine.ensembles.wiring import ordered_steps

_LEAST_IR = 4
"""From here on an initializer need not be an input."""

_Known = dict[str, onnx.ValueInfoProto]


class NotMerged(Exception):
    """The steps have no graph in common; the message says why. Their models may run in turn."""


def merged(ensemble: Ensemble, models: Mapping[str, onnx.ModelProto]) -> onnx.ModelProto:
    """One model whose inputs and outputs are the ensemble's tensors.

    Parameters
    ----------
    models : mapping of str to onnx.ModelProto
        By the step's ``at``; changed. Locations of external data begin with the step's folder
        afterwards (``step_folder``).

    Raises
    ------
    ConfigError
        If the steps do not fit together, naming file, step and tensor.
    NotMerged
        If they do, and have no graph in common all the same.
    """
    steps = ordered_steps(ensemble)
    for step in steps:
        StepPart(step, 0, models[step.at]).check(ensemble)
    try:
        levelled = with_equal_opsets([models[step.at] for step in steps])
    except OpsetError as error:
        raise NotMerged(str(error)) from error
    parts = [
        StepPart(step, i, model)
        for i, (step, model) in enumerate(zip(steps, levelled, strict=True))
    ]
    for part in parts:
        part.join()
    known, sizes = _joined(ensemble, parts)
    return _one(ensemble, parts, known, sizes)


def _joined(ensemble: Ensemble, parts: Sequence[StepPart]) -> tuple[_Known, EqualSizes]:
    """What is known of the tensors, as all that make or read them know it."""
    sizes, known, whose = EqualSizes(), _Known(), dict[str, str]()
    for part in parts:
        for field, tensor, value in part.known():
            if tensor not in known:
                known[tensor], whose[tensor] = value, str(part.step)
            try:
                join_types(sizes, known[tensor], value)
            except Mismatch as error:
                raise ensemble.wrong(
                    f"{part.step.at}.{field}",
                    f"tensor {tensor!r} of {whose[tensor]} does not fit {part.step}: {error}",
                ) from error
    return known, sizes


def _one(
    ensemble: Ensemble, parts: Sequence[StepPart], known: _Known, sizes: EqualSizes
) -> onnx.ModelProto:
    """The graph of all parts, and what belongs to it."""
    model = onnx.ModelProto(ir_version=max(_LEAST_IR, *(p.model.ir_version for p in parts)))
    model.producer_name = "surplus"
    graph = model.graph
    graph.name = ensemble.name
    for part in parts:
        own = part.model.graph
        graph.node.extend(own.node)
        graph.initializer.extend(own.initializer)
        graph.sparse_initializer.extend(own.sparse_initializer)
        graph.value_info.extend(own.value_info)
        graph.quantization_annotation.extend(own.quantization_annotation)
        model.functions.extend(part.model.functions)
    graph.input.extend(_named(known[port.name], port.name) for port in ensemble.inputs)
    graph.output.extend(_named(known[port.name], port.name) for port in ensemble.outputs)
    sizes.apply(graph)
    versions = {d: v for part in parts for d, v in opsets_of(part.model).items()}
    model.opset_import.extend(onnx.helper.make_opsetid(d, v) for d, v in versions.items())
    return model


def _named(value: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy
