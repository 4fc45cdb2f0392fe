"""Searches the largest operator group that ends in time.

References
----------
Abacus (SC'21), section 6.3: multi-way search, ``ways`` predictions at once. Queries join in order
of urgency, whole as long as they fit; of the first that does not fit, as many operators as do.
The release stops after one look inside a query and may overshoot; here the search goes on until
no operator more fits, and what it returns was itself predicted to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from surplus.colocation.frame.query import Query
from surplus.colocation.frame.work import Piece
from surplus.colocation.overlap.group_predictor import Predict


class GroupCandidate(NamedTuple):
    """A query that may join a group: its operators ``start <= i < end`` are still to run."""

    query: Query
    start: int
    end: int

    def piece(self, end: int) -> Piece:
        """Its operators before ``end``."""
        query = self.query
        return Piece(query.service, (query,), self.start, end, query.items, query.sequence)


class GroupFound(NamedTuple):
    """A group and its predicted time; what it was bounded by is not part of it."""

    pieces: tuple[Piece, ...]
    predicted_ns: int


class GroupSearch:
    """Multi-way search.

    Parameters
    ----------
    predict : callable
        Times of groups.
    ways : int
        How many groups are predicted at once; >= 1.
    rounds : int, optional
        How often to look inside the last query; None until no operator more fits, 0 to take
        whole queries only.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    def __init__(self, predict: Predict, ways: int = 4, rounds: int | None = None) -> None:
        if ways < 1 or (rounds is not None and rounds < 0):
            raise ValueError(f"ways must be >= 1 and rounds >= 0, got {ways} and {rounds}")
        self._predict = predict
        self._ways = ways
        self._rounds = rounds

    def largest(
        self, candidates: Sequence[GroupCandidate], headroom_ns: int, share_percent: int
    ) -> GroupFound:
        """Find the group for the first candidate and as much as fits of the others.

        Parameters
        ----------
        candidates : sequence of GroupCandidate
            By urgency, of different services; not empty.
        headroom_ns : int
            What the group may take.

        Returns
        -------
        Found
            Predicted to take at most the headroom, or the first candidate alone if not even
            that fits.
        """
        whole = tuple(candidate.piece(candidate.end) for candidate in candidates)
        fitting, found = self._whole(whole, headroom_ns, share_percent)
        if not 0 < fitting < len(whole) or self._rounds == 0:
            return found
        return self._inside(found, candidates[fitting], headroom_ns, share_percent)

    def _whole(
        self, whole: tuple[Piece, ...], headroom_ns: int, share_percent: int
    ) -> tuple[int, GroupFound]:
        """How many leading queries fit whole, and their group; the first alone if none does."""
        found = None
        fitting = 0
        while fitting < len(whole):
            counts = range(fitting + 1, min(fitting + self._ways, len(whole)) + 1)
            times_ns = self._predict([whole[:count] for count in counts], share_percent)
            for count, time_ns in zip(counts, times_ns, strict=True):
                if time_ns > headroom_ns:
                    return fitting, found or GroupFound(whole[:1], time_ns)
                fitting, found = count, GroupFound(whole[:count], time_ns)
        assert found is not None
        return fitting, found

    def _inside(
        self, found: GroupFound, last: GroupCandidate, headroom_ns: int, share_percent: int
    ) -> GroupFound:
        """Add the operators of one more query that still fit."""
        base = found.pieces
        least, most = last.start, last.end
        rounds = 0
        while most - least > 1 and rounds != self._rounds:
            rounds += 1
            ends = _points(least, most, self._ways)
            groups = [(*base, last.piece(end)) for end in ends]
            times_ns = self._predict(groups, share_percent)
            for end, group, time_ns in zip(ends, groups, times_ns, strict=True):
                if time_ns > headroom_ns:
                    most = end
                    break
                least, found = end, GroupFound(group, time_ns)
        return found


def _points(least: int, most: int, ways: int) -> list[int]:
    """At most ``ways`` different integers at equal steps, between two."""
    inside = most - least - 1
    count = min(ways, inside)
    return [least + (inside + 1) * step // (count + 1) for step in range(1, count + 1)]
