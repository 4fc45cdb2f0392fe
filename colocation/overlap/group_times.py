"""How long operator groups take, interpolated from measured samples: a ground truth.

Where a model was measured alone and whole, that is its time. Everything else is the estimate of a
regressor times an error that is drawn once for each group, from the errors that the regressor
made on samples that it had not seen: a truth that no smooth model can know.

It must judge a policy, so nothing of it is a policy's: other inputs, layers, target and samples
than the latency model that a policy asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import exp, log, log2
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surplus.colocation.overlap.features import GroupPart, Layout, Parts
from surplus.colocation.overlap.perceptron import Array, Perceptron, pack, unpack
from surplus.colocation.randomness.draws import stream_of, uniform

_FORMAT = "group times"
_NS_PER_MS = 1_000_000
_PER_MODEL = 6
_MOST_MS = 1e9


class Time(NamedTuple):
    """Median time of a group, and relative standard deviation over its repeats."""

    median_ns: float
    spread: float


@dataclass(frozen=True)
class GroupTimes:
    """Times of groups of at most two models as measured, of more by an assumption.

    A group of ``k`` models saves, of the sum of its parts, the savings of all its pairs times
    ``2 / k``: exact for two, and for equal models the mean saving of a pair grows with
    ``k - 1``. It never takes less than its longest part.

    Parameters
    ----------
    layout : Layout
        Slots do not matter.
    members : tuple of Perceptron
        Their mean is the estimate: natural logarithm of milliseconds.
    alone : array, (measured, 5)
        Model, batch, sequence length, milliseconds, spread of models alone and whole.
    errors : tuple of array, (samples, 2)
        Measured over estimated time, and spread, of unseen samples: of one model, of two.
    """

    layout: Layout
    members: tuple[Perceptron, ...]
    alone: Array
    errors: tuple[Array, Array]

    def __post_init__(self) -> None:
        fine = self.members and all(m.inputs == self.inputs for m in self.members)
        shapes = [self.alone.shape[1:], *(errors.shape[1:] for errors in self.errors)]
        if not fine or shapes != [(5,), (2,), (2,)] or not all(map(len, self.errors)):
            raise ValueError(f"arrays of {shapes} do not describe times of groups")
        times, spreads = np.concatenate([self.alone[:, 3:], *self.errors]).T
        if not (times.min() > 0 and times.max() < _MOST_MS and spreads.min() >= 0):
            raise ValueError("times must be > 0 and deviations >= 0")

    @property
    def inputs(self) -> int:
        """Length of a regressor's row."""
        return _PER_MODEL * len(self.layout.models)

    def of(self, parts: Parts) -> Time:
        """Time of a group, the same whenever it is asked.

        Parameters
        ----------
        parts : tuple of Part
            Different models, each at least one operator; not empty.
        """
        known = self._known.get(parts)
        if known is None:
            ordered = tuple(sorted(parts))
            known = self._few(ordered) if len(ordered) <= 2 else self._many(ordered)
            self._known[parts] = known
        return known

    def to_bytes(self) -> bytes:
        """Make a file of it."""
        about = {
            "format": _FORMAT,
            "models": self.layout.models,
            "operators": self.layout.operators,
            "members": len(self.members),
        }
        arrays = {"alone": self.alone, "errors1": self.errors[0], "errors2": self.errors[1]}
        for place, member in enumerate(self.members):
            arrays |= member.arrays(f"m{place}_")
        return pack(about, arrays)

    def _few(self, parts: Parts) -> Time:
        whole = parts[0].start == 0 and parts[0].end == self.layout.operators[parts[0].model]
        if len(parts) == 1 and whole:
            found = self._measured.get((parts[0].model, parts[0].items, parts[0].sequence))
            if found is not None:
                return found
        rows = np.array([estimate_row(self.layout, parts)])
        logarithm = float(np.mean([member(rows)[0] for member in self.members]))
        errors = self.errors[len(parts) - 1]
        ratio, spread = errors[int(uniform(stream_of(0, repr(parts)), 0, 0) * len(errors))]
        if not logarithm + log(ratio) < log(_MOST_MS):
            raise ValueError(f"truth, measured: a group is estimated to take e^{logarithm:g} ms")
        return Time(exp(logarithm) * ratio * _NS_PER_MS, spread)

    def _many(self, parts: Parts) -> Time:
        alone = [self.of((part,)) for part in parts]
        total_ns = sum(time.median_ns for time in alone)
        saved_ns = sum(
            one.median_ns + other.median_ns - self.of((parts[i], parts[j])).median_ns
            for (i, one), (j, other) in combinations(enumerate(alone), 2)
        )
        median_ns = total_ns - saved_ns * 2 / len(parts)
        longest_ns = max(time.median_ns for time in alone)
        return Time(max(longest_ns, median_ns), max(time.spread for time in alone))

    @cached_property
    def _known(self) -> dict[Parts, Time]:
        return {}

    @cached_property
    def _measured(self) -> dict[tuple[int, int, int], Time]:
        rows = self.alone.tolist()
        return {(int(m), int(b), int(q)): Time(ms * _NS_PER_MS, d) for m, b, q, ms, d in rows}


def estimate_row(layout: Layout, parts: Sequence[GroupPart]) -> list[float]:
    """Inputs of the regressor: six numbers for each known model, 0 where it does not run."""
    row = [0.0] * (_PER_MODEL * len(layout.models))
    for model, start, end, items, sequence in parts:
        operators = layout.operators[model]
        row[_PER_MODEL * model : _PER_MODEL * (model + 1)] = (
            1.0,
            start / operators,
            end / operators,
            items / 16,
            log2(items) - 3,
            log2(sequence + 1) / 3,
        )
    return row


def load_group_times(path: Path) -> GroupTimes:
    """Read times that ``to_bytes`` made.

    Raises
    ------
    ValueError
        If the file is something else, or damaged.
    OSError
        If it cannot be read.
    """
    about, arrays = unpack(path, _FORMAT)
    try:
        models = tuple(about["models"])
        layout = Layout(models, tuple(about["operators"]), len(models))
        members = [Perceptron.of_arrays(arrays, f"m{k}_") for k in range(about["members"])]
        errors = (arrays["errors1"], arrays["errors2"])
        return GroupTimes(layout, tuple(members), arrays["alone"], errors)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: damaged group times ({error})") from error
