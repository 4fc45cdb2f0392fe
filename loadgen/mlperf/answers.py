"""What the samples of an accuracy run were answered."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surplus.loadgen.clients.answers import UNREADABLE
from surplus.loadgen.clients.tensors import Answer, from_array
from surplus.loadgen.errors import ClientError, PayloadError, ResultError
from surplus.loadgen.mlperf.agreement import Agreement, agreement_of
from surplus.loadgen.mlperf.expected import ExpectedAnswers
from surplus.loadgen.targets.feed import Feeding


class Answers:
    """Collects them; for one thread at a time.

    Parameters
    ----------
    expected : ExpectedAnswers or None
        What they should be.
    """

    def __init__(self, expected: ExpectedAnswers | None = None) -> None:
        self._expected = expected
        self._of: dict[int, Answer] = {}

    def check(self, samples: int) -> None:
        """Raise ResultError if others than that many are expected."""
        if self._expected is not None:
            self._expected.check(samples)

    def take(self, feed: Feeding, sample: int) -> bytes:
        """Keep a sample's answer; what LoadGen logs of it: its outputs, one after the other.

        Raises
        ------
        ClientError
            If it cannot be read.
        """
        answer = feed.answer(sample)
        try:
            data = b"".join(from_array(name, array).raw for name, array in answer.items())
        except (PayloadError, AttributeError) as error:  # a type that is none, or no tensor
            raise ClientError(UNREADABLE, f"an output cannot be read: {error}") from error
        self._of[sample] = answer
        return data

    def agreement(self) -> Agreement | None:
        """With what was expected, if anything was; raises as ``agreement_of``."""
        return None if self._expected is None else agreement_of(self._of, self._expected)

    def write(self, path: Path, samples: int) -> None:
        """Store them as ``read_expected`` reads them.

        Raises
        ------
        ResultError
            If one is missing, or they differ in their shapes.
        """
        if missing := samples - len(self._of):
            said = f"{missing:,} of {samples:,} answers are missing"
            raise ResultError(f"{path}: not written: {said}")
        in_order = [self._of[sample] for sample in range(samples)]
        try:
            arrays = {name: np.stack([one[name] for one in in_order]) for name in in_order[0]}
        except ValueError as error:
            raise ResultError(f"{path}: not written: answers differ in shape") from error
        texts = {n: a.astype(np.str_) if a.dtype.kind == "O" else a for n, a in arrays.items()}
        with path.open("wb") as file:  # savez would add a suffix to a path
            np.savez(file, allow_pickle=False, **texts)
