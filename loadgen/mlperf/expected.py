"""What the answers of an accuracy run should be."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clients.tensors import Answer
from surplus.loadgen.errors import ResultError

LABELS = "labels"


@dataclass(frozen=True)
class ExpectedAnswers:
    """Arrays by output name, and perhaps labels, of shape ``(samples, ...)``.

    Parameters
    ----------
    path : Path
        Where they are from.
    arrays : mapping of str to array
        At least one, all of as many samples. ``labels`` holds the class of each sample, unless an
        output is called so.
    """

    path: Path
    arrays: Mapping[str, NDArray[np.generic]]

    @property
    def samples(self) -> int:
        """How many there are."""
        return len(next(iter(self.arrays.values())))

    def check(self, samples: int) -> None:
        """Raise ResultError if the set of samples is another one."""
        if samples != self.samples:
            raise ResultError(
                f"{self.path}: has {self.samples:,} answers, and the set {samples:,} samples"
            )

    def outputs(self, answer: Answer) -> Mapping[str, NDArray[np.generic]]:
        """Those of the model's outputs, for one of its answers.

        Raises
        ------
        ResultError
            If there is something else; it names it.
        """
        outputs = {name: a for name, a in self.arrays.items() if name in answer or name != LABELS}
        for name, array in outputs.items():
            if name not in answer:
                known = ", ".join(answer)
                raise ResultError(f"{self.path}: the model has no output {name!r}; it has: {known}")
            self._check_sizes(name, array, answer)
        return outputs

    def labels(self, answer: Answer) -> NDArray[np.int64] | None:
        """Those of the samples, if there are any.

        Raises
        ------
        ResultError
            If they are not one whole number each.
        """
        labels = None if LABELS in answer else self.arrays.get(LABELS)
        if labels is None:
            return None
        if labels.dtype.kind not in "iu" or labels.size != self.samples:
            raise ResultError(f"{self.path}: {LABELS}: must be one whole number a sample")
        return labels.reshape(-1).astype(np.int64)

    def _check_sizes(self, name: str, array: NDArray[np.generic], answer: Answer) -> None:
        if array[0].size != answer[name].size:
            raise ResultError(
                f"{self.path}: {name}: {list(array.shape[1:])} a sample, and the answers have"
                f" {list(answer[name].shape)}"
            )


def read_expected(path: Path) -> ExpectedAnswers:
    """Read an ``.npz`` file.

    Raises
    ------
    ResultError
        If it is none, or its arrays are not of as many samples; it names the file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ResultError(f"cannot read {path} as .npz: {error}") from error
    counts = {array.shape[:1] for array in arrays.values()}
    if len(counts) != 1 or counts & {(), (0,)}:
        raise ResultError(f"{path}: arrays must have the samples, as many in each, in front")
    return ExpectedAnswers(path, arrays)
