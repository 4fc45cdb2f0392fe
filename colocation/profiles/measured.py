"""A model's times as they were measured live, interpolated."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from surplus.colocation.frame.clock import NS_PER_MS
from surplus.colocation.frame.profile import PROFILES
from surplus.colocation.profiles.measured_profile import (
    MeasuredModel,
    MeasuredProfile,
    load_measured_profile,
)
from surplus.colocation.profiles.table import Table

_NOTHING: Mapping[str, float] = MappingProxyType({})


class MeasuredTimes:
    """Times of one model.

    Parameters
    ----------
    measured : MeasuredModel
    in_lanes : bool
        Whether its shares are lanes: none lies between two measured ones then.
    beside : mapping of str to float
        Extra time, as a fraction, that each model of that name costs it; empty if not measured.
    """

    def __init__(
        self,
        measured: MeasuredModel,
        in_lanes: bool = False,
        beside: Mapping[str, float] = _NOTHING,
    ) -> None:
        self._measured = measured
        self.beside = beside
        self._table = Table(measured.items, measured.ms)
        self._only = frozenset(map(int, measured.ms)) if in_lanes else None

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """Interpolate by batch, then by share.

        Raises
        ------
        ValueError
            If the batch or the share is outside of what was measured.
        """
        if self._only is not None and share_percent not in self._only:
            lanes = ", ".join(f"{share} %" for share in sorted(self._only))
            raise ValueError(f"no time for {share_percent} %: its lanes are {lanes}")
        return self._table.latency_ns(items, sequence, share_percent)

    def spread(self, items: int, sequence: int) -> float:
        """That of the largest batch that was measured and is no larger."""
        rows = zip(self._measured.items, self._measured.deviation, strict=True)
        below = [spread for batch, spread in rows if batch <= items]
        return below[-1] if below else self._measured.deviation[0]


class MeasuredVersions(MeasuredTimes):
    """Times of one model whose groups have versions; a ``LayeredProfile``.

    Operations are the times of version 0 on the fewest cores. Batches take as many times as long
    as one query as the whole model does.
    """

    @property
    def cores(self) -> tuple[int, ...]:
        """All versions have the same."""
        return self._measured.versions[0].cores

    @cached_property
    def operations(self) -> tuple[int, ...]:
        """As above."""
        return tuple(_ns(row[0]) for row in self._measured.versions[0].groups_ms)

    @cached_property
    def sensitivities(self) -> tuple[float, ...]:
        """By version."""
        return tuple(version.sensitivity for version in self._measured.versions)

    def operator_ns(self, items: int, sequence: int, version: int) -> tuple[tuple[int, ...], ...]:
        """Of each group, on each number of cores.

        Raises
        ------
        ValueError
            If the batch is outside of what was measured.
        """
        one = self._measured.items[0]
        one_ns, batch_ns = (self.latency_ns(n, sequence, 100) for n in (one, items))
        rows = self._measured.versions[version].groups_ms
        return tuple(tuple(_ns(ms * batch_ns / one_ns) for ms in row) for row in rows)


def _ns(ms: float) -> int:
    return max(1, round(ms * NS_PER_MS))


def times_of(profile: MeasuredProfile, model: str) -> MeasuredTimes:
    """Times of one of the models, by version where it has several."""
    measured = profile.models[model]
    kind = MeasuredVersions if measured.versions else MeasuredTimes
    return kind(measured, not profile.by_share, profile.extra.get(model, _NOTHING))


@PROFILES.register("measured")
def measured_times(path: str, model: str) -> MeasuredTimes:
    """One model of a file of ``engine colocate profile``.

    Parameters
    ----------
    path : str
    model : str
        Its name in the file, which is that of the service.

    Raises
    ------
    ValueError
        If the file is something else, or lacks the model.
    """
    profile = load_measured_profile(Path(path))
    known = profile.models
    if model not in known:
        raise ValueError(f"{path}: {model!r} was not measured; there are: {', '.join(known)}")
    return times_of(profile, model)
