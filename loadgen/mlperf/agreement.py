"""Answers beside those that were expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.errors import ResultError
from surplus.loadgen.mlperf.expected import ExpectedAnswers

RTOL, ATOL = 1e-3, 1e-4
"""Within which reals agree: kernels, batches and devices round differently. All else must equal."""


@dataclass(frozen=True)
class Agreement:
    """How a set was answered.

    Parameters
    ----------
    samples : int
        Of the set.
    others : tuple of int or None
        Samples whose answers do not agree with the expected ones, or that have none. None where
        only labels were given.
    equal : int
        Samples that were answered as expected to the bit.
    difference : float
        The largest between finite reals of an answer and the expected one.
    correct : int or None
        Samples whose label was answered; None without labels.
    """

    samples: int
    others: tuple[int, ...] | None = None
    equal: int = 0
    difference: float = 0.0
    correct: int | None = None

    @property
    def is_agreed(self) -> bool:
        """Whether all that was expected in full was answered so; labels have no bound."""
        return not self.others


def agreement_of(answers: Mapping[int, Answer], expected: ExpectedAnswers) -> Agreement:
    """Compare each sample's answer; one without an answer does not agree, and has no label.

    Raises
    ------
    ResultError
        If the answers have other outputs or sizes than the expected ones, or no class.
    """
    if not answers:
        others = tuple(range(expected.samples))
        return Agreement(expected.samples, others)
    wanted = expected.outputs(first := next(iter(answers.values())))
    labels = expected.labels(first)
    correct = None if labels is None else _correct(answers, labels)
    if not wanted:
        return Agreement(expected.samples, correct=correct)
    pairs = {
        sample: [(answer[name], array[sample]) for name, array in wanted.items()]
        for sample, answer in answers.items()
    }
    agreed = {sample for sample, rows in pairs.items() if all(_agrees(*row) for row in rows)}
    return Agreement(
        expected.samples,
        tuple(sample for sample in range(expected.samples) if sample not in agreed),
        sum(all(_equals(*row) for row in rows) for rows in pairs.values()),
        max(_difference(*row) for rows in pairs.values() for row in rows),
        correct,
    )


Array = NDArray[np.generic]


def _agrees(answer: Array, wanted: Array) -> bool:
    if answer.size != wanted.size:
        return False
    answer, wanted = answer.reshape(-1), wanted.reshape(-1)
    if _are_reals(answer, wanted):
        return bool(np.allclose(answer, wanted, RTOL, ATOL, equal_nan=True))
    return bool(np.array_equal(answer, wanted))


def _equals(answer: Array, wanted: Array) -> bool:
    is_real = _are_reals(answer, wanted)
    flat = answer.reshape(-1), wanted.reshape(-1)
    return bool(np.array_equal(*flat, equal_nan=is_real))


def _difference(answer: Array, wanted: Array) -> float:
    if not _are_reals(answer, wanted) or answer.size != wanted.size:
        return 0.0
    with np.errstate(invalid="ignore"):  # infinities, and what is not a number
        apart = np.abs(np.subtract(answer.reshape(-1), wanted.reshape(-1), dtype=np.float64))
    return float(apart[np.isfinite(apart)].max(initial=0.0))


def _are_reals(answer: Array, wanted: Array) -> bool:
    return answer.dtype.kind == "f" and wanted.dtype.kind == "f"


def _correct(answers: Mapping[int, Answer], labels: NDArray[np.int64]) -> int:
    return sum(_class_of(answer) == int(labels[sample]) for sample, answer in answers.items())


def _class_of(answer: Answer) -> int:
    """Of the first output: where it is largest, or what it is, if it is one number."""
    name, array = next(iter(answer.items()))
    if array.dtype.kind not in "fiu" or array.size not in (1, *array.shape[-1:]):
        raise ResultError(f"output {name!r} of shape {list(array.shape)} is not scores of classes")
    return int(array.reshape(-1)[0]) if array.size == 1 else int(array.argmax())
