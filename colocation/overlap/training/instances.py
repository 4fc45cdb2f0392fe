"""Which groups to measure: those that a controller forms.

References
----------
Abacus (SC'21), section 5.4, instance-based sampling: of the models of a group some end in it,
whatever their first operator, and some begin in it, wherever they stop; each does at least one of
the two, and at least one ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surplus.colocation.overlap.features import GroupPart, Layout, Parts
from surplus.colocation.overlap.group_times import GroupTimes
from surplus.colocation.overlap.training.samples import Samples

_NS_PER_MS = 1_000_000


def instance_groups(
    layout: Layout,
    models: Sequence[int],
    items: Sequence[int],
    sequences: Sequence[Sequence[int]],
    generator: np.random.Generator,
) -> Iterator[Parts]:
    """Draw groups of some models without end.

    Parameters
    ----------
    layout : Layout
    models : sequence of int
        Those that run side by side, by number.
    items : sequence of int
        Batches, equally likely.
    sequences : sequence of sequence of int
        By number of the model: sequence lengths, equally likely.
    generator : numpy.random.Generator
    """
    while True:
        order = generator.permutation(list(models)).tolist()
        ending = int(generator.integers(1, len(order) + 1))
        beginning = int(generator.integers(len(order) - ending, len(order) + 1))
        parts = []
        for place, model in enumerate(order):
            operators = layout.operators[model]
            ends = place < ending
            begins = place >= len(order) - beginning
            start = 0 if begins else int(generator.integers(0, operators))
            end = operators if ends else int(generator.integers(1, operators + 1))
            batch, length = generator.choice(items), generator.choice(sequences[model])
            parts.append(GroupPart(model, start, end, int(batch), int(length)))
        yield tuple(sorted(parts))


def samples_of(times: GroupTimes, groups: Sequence[Parts], slots: int) -> Samples:
    """What measuring groups would give if ``times`` were the machine."""
    measured = [times.of(parts) for parts in groups]
    layout = Layout(times.layout.models, times.layout.operators, slots)
    return Samples(
        layout=layout,
        groups=tuple(groups),
        median_ms=np.array([time.median_ns for time in measured]) / _NS_PER_MS,
        spread=np.array([time.spread for time in measured]),
    )
