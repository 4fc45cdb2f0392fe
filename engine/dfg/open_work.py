"""Whether the values of a query decide how long a model runs, beside the sizes of its inputs."""

from __future__ import annotations

from collections.abc import Iterable

from surplus.engine.dfg.content import GraphTask

_SIZED_BY_VALUES = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "ImageDecoder": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Resize": (2, 3),
    "STFT": (1, 3),
    "Tile": (1,),
    "Upsample": (1,),
}
"""Inputs whose values say how large the outputs are, by operator."""


def has_open_work(tasks: Iterable[GraphTask]) -> bool:
    """Whether some operator takes as long as a query says: loops, and sizes that are computed.

    True also for operators of other domains, of which nothing is known.
    """
    return any(map(_is_open, tasks))


def _is_open(task: GraphTask) -> bool:
    if task.is_control_flow or "." in task.op_type:
        return True
    names = task.node.input
    return any(
        place < len(names) and names[place] and names[place] not in task.initializers
        for place in _SIZED_BY_VALUES.get(task.op_type, ())
    )
