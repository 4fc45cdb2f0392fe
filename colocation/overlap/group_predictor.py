"""Predictors that answer for several groups at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from surplus.colocation.frame.predictor import Predictor
from surplus.colocation.frame.work import Piece

Groups = Sequence[Sequence[Piece]]

Predict = Callable[[Groups, int], Sequence[int]]
"""Groups, share in percent -> predicted times in ns."""


@runtime_checkable
class GroupPredictor(Predictor, Protocol):
    """A predictor for which many groups cost little more than one."""

    def groups_ns(self, groups: Groups, share_percent: int) -> Sequence[int]:
        """Predicted time of each group."""
        ...


def predict_of(predictor: Predictor) -> Predict:
    """Many groups at once, or one after the other if a predictor cannot."""
    if isinstance(predictor, GroupPredictor):
        return predictor.groups_ns
    return lambda groups, share: [predictor.group_ns(group, share) for group in groups]
