"""How long groups really take in a simulation; policies never see it."""

from __future__ import annotations

from statistics import fmean
from typing import NamedTuple, Protocol

from surplus.colocation.frame.profile import LatencyProfile, part_ns
from surplus.colocation.frame.service import Service
from surplus.colocation.frame.work import Group, Piece
from surplus.colocation.randomness.draws import stream_of, uniform
from surplus.colocation.randomness.noise import Noise


class Truth(Protocol):
    """The ground truth of a simulation."""

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Time of a group in its partition with the rest of the device idle; > 0."""
        ...


class ProfileTruth:
    """Profiles with noise; pieces side by side save a share of their sum.

    Parameters
    ----------
    services, profiles
        By service.
    noise : Noise
    seed : int
        Of the service times; each service draws from a stream of its own.
    overlap : float
        0 <= overlap < 1: a group of several pieces takes ``1 - overlap`` of the sum of its
        pieces, but never less than its longest.

    Raises
    ------
    ValueError
        If ``overlap`` is out of range.
    """

    def __init__(
        self,
        services: tuple[Service, ...],
        profiles: tuple[LatencyProfile, ...],
        noise: Noise,
        seed: int,
        overlap: float = 0.0,
    ) -> None:
        if not 0 <= overlap < 1:
            raise ValueError(f"overlap must be >= 0 and < 1, got {overlap}")
        self._operators = tuple(service.operators for service in services)
        self._streams = tuple(stream_of(seed, service.name) for service in services)
        self._profiles = profiles
        self._noise = noise
        self._kept = 1.0 - overlap
        self._known: dict[tuple[int, int, int, int], tuple[int, float]] = {}

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Sum of the pieces, less what their overlap saves."""
        pieces = group.pieces
        if len(pieces) == 1:
            return self._piece_ns(pieces[0], share_percent)
        times_ns = [self._piece_ns(piece, share_percent) for piece in pieces]
        return max(max(times_ns), round(sum(times_ns) * self._kept))

    def _piece_ns(self, piece: Piece, share_percent: int) -> int:
        service = piece.service
        key = (service, piece.items, piece.sequence, share_percent)
        known = self._known.get(key)
        if known is None:
            profile = self._profiles[service]
            known = self._known[key] = (
                profile.latency_ns(piece.items, piece.sequence, share_percent),
                profile.spread(piece.items, piece.sequence),
            )
        mean_ns = part_ns(known[0], piece.start, piece.end, self._operators[service])
        draw = uniform(self._streams[service], piece.queries[0].number, piece.start)
        return max(1, round(mean_ns * self._noise(draw, known[1])))


class Pace(NamedTuple):
    """How many times as long as elsewhere groups take on a machine; factors > 0.

    Parameters
    ----------
    window_ns : int
        > 0.
    windows : tuple of float
        By window of starts, from 0 on; the last one holds on.
    services : tuple of float
        By service, besides.
    together : float
        Of groups of several pieces, besides.
    """

    window_ns: int
    windows: tuple[float, ...]
    services: tuple[float, ...]
    together: float = 1.0


class PacedTruth:
    """A truth on a machine whose speed changes.

    Parameters
    ----------
    truth : Truth
    pace : Pace

    Raises
    ------
    ValueError
        If there is no window, or a number is not > 0.
    """

    def __init__(self, truth: Truth, pace: Pace) -> None:
        factors = (*pace.windows, *pace.services, pace.together)
        if pace.window_ns < 1 or not pace.windows or not all(0 < f < float("inf") for f in factors):
            raise ValueError(f"windows and factors must be > 0, got {pace}")
        self._truth = truth
        self._pace = pace

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Scale by the factors of its start and of its services, on the mean."""
        pace = self._pace
        window = min(group.start_ns // pace.window_ns, len(pace.windows) - 1)
        own = fmean(pace.services[piece.service] for piece in group.pieces)
        if len(group.pieces) > 1:
            own *= pace.together
        truth_ns = self._truth.group_ns(group, share_percent)
        return max(1, round(truth_ns * pace.windows[window] * own))


class HostedTruth:
    """A truth behind a host that thinks before it starts a group.

    Parameters
    ----------
    truth : Truth
    host_ns : int
        What each group waits for it; >= 0.
    """

    def __init__(self, truth: Truth, host_ns: int) -> None:
        if host_ns < 0:
            raise ValueError(f"host_ns must be >= 0, got {host_ns}")
        self._truth = truth
        self._host_ns = host_ns

    def group_ns(self, group: Group, share_percent: int) -> int:
        """Add the host's time."""
        return self._truth.group_ns(group, share_percent) + self._host_ns
