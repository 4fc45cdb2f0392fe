"""How long and how widely to tune."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.engine.contest.contest import ContestParams
from surplus.engine.errors import ConfigError


@dataclass(frozen=True)
class TuneParams:
    """How long and how widely to look.

    Parameters
    ----------
    time_s : float
        For building, measuring and thinking together; what is begun is finished.
    challengers : int
        Most plans that a round builds, fewer where queries are long.
    patience : int
        Rounds without a gain before giving up.
    contest : ContestParams
        How plans are compared.
    fixed_devices : frozenset of int
        Devices whose times are given (emulated ones), so that there is nothing to learn.

    Raises
    ------
    ConfigError
        If a number is out of range.
    """

    time_s: float = 20.0
    challengers: int = 4
    patience: int = 2
    contest: ContestParams = field(default_factory=ContestParams)
    fixed_devices: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not 0 < self.time_s < float("inf"):
            raise ConfigError(f"the time to tune must be > 0 seconds, got {self.time_s}")
        if self.challengers < 1 or self.patience < 1:
            raise ConfigError("challengers and patience must be >= 1")
