"""Whether a model with a library's kernels gives the same bits on one lane as on all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from surplus.engine.contest.selection import ModelContender
from surplus.engine.planning.kernel_look import KernelLook, Shown, kernels_of
from surplus.engine.planning.kernel_memory import kernel_bytes
from surplus.engine.planning.kernel_segments import with_kernels
from surplus.engine.planning.varied_inputs import scaled
from surplus.engine.segmentation.plan import Plan


def with_any_width(look: KernelLook, best: Shown, inputs: Mapping[str, Any]) -> Plan:
    """The best plan, with a note if it is one segment that gives the same bits on one lane.

    Queries that overlap then run on a lane each, if the memory holds a copy for each.
    """
    plan = best.plan
    (kernels,) = kernels_of(plan).values() if len(plan.segments) == 1 else (None,)
    if kernels is None or plan.segments[0].width == 1:
        return plan
    one = replace(plan, segments=(replace(plan.segments[0], width=1, kernels=None),))
    tried = next(t for t in look.segments if t.library == kernels.library)
    narrow = with_kernels(one, tried.of(one, look.lanes), f"{plan.name} on one lane")
    if not narrow.libraries or kernel_bytes(narrow) + kernel_bytes(plan) > look.memory_bytes:
        return plan
    contender = look.build(narrow)
    if contender is None or not _same_answers(best.contender, contender, inputs):
        return plan
    marked = replace(kernels, any_width=True)
    return replace(plan, segments=(replace(plan.segments[0], kernels=marked),))


def _same_answers(one: ModelContender, other: ModelContender, inputs: Mapping[str, Any]) -> bool:
    """Whether both give the same bits to the inputs, and to some that are a little otherwise."""
    for given in (inputs, scaled(inputs, 0.9)):
        answer, again = one.model.run(given), other.model.run(given)
        for name, value in answer.items():
            found = again[name]
            if not (isinstance(value, np.ndarray) and value.tobytes() == found.tobytes()):
                return False
    return True
