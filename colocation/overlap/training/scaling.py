"""Inputs of mean 0 and deviation 1, folded into the first layer, so that serving scales nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surplus.colocation.overlap.perceptron import Array


@dataclass(frozen=True)
class Scaling:
    """Mean and deviation of each column; a constant column has deviation 1."""

    mean: Array
    deviation: Array

    @classmethod
    def of(cls, rows: Array) -> Scaling:
        """Measure the columns."""
        deviation = rows.std(axis=0)
        return cls(rows.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def applied(self, rows: Array) -> Array:
        """Scale rows."""
        return (rows - self.mean) / self.deviation

    def folded(self, weight: Array, bias: Array) -> tuple[Array, Array]:
        """The first layer for rows that are not scaled."""
        raw = weight / self.deviation[:, None]
        return raw, bias - self.mean @ raw
