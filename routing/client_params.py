"""How a client asks several servers."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.loadgen.transport import TlsParams


@dataclass(frozen=True)
class EjectionParams:
    """When a server is asked no more, and for how long.

    Parameters
    ----------
    most_failures : int
        In a row, >= 1; a server whose connection is lost is ejected at once.
    eject_s : float
        How long the first time, > 0; twice as long each time in a row.
    most_eject_s : float
        And never longer; >= ``eject_s``.
    """

    most_failures: int = 3
    eject_s: float = 1.0
    most_eject_s: float = 30.0

    def __post_init__(self) -> None:
        if self.most_failures < 1:
            raise ValueError(f"most_failures must be >= 1, got {self.most_failures}")
        if not 0 < self.eject_s <= self.most_eject_s:
            raise ValueError(
                f"eject_s must be > 0 and at most most_eject_s, got {self.eject_s}"
                f" and {self.most_eject_s}"
            )


@dataclass(frozen=True)
class ClientParams:
    """What holds for all queries of a client.

    Parameters
    ----------
    timeout_s : float
        In which a query is due that says nothing else, > 0; its servers are told, and refuse what
        they cannot answer in time.
    resolve_s : float
        How old what the resolver said may be before it is asked again, > 0.
    ping_s : float
        How long a connection with queries may be silent before it is asked whether it is there, and
        how long the answer may take; > 0. So a machine that is gone is noticed.
    token : str
        Sent as ``Authorization: Bearer``; empty: none.
    tls : TlsParams or None
        What everything is encrypted with.
    ejection : EjectionParams
        When a server is asked no more.
    """

    timeout_s: float = 60.0
    resolve_s: float = 2.0
    ping_s: float = 10.0
    token: str = ""
    tls: TlsParams | None = None
    ejection: EjectionParams = field(default_factory=EjectionParams)

    def __post_init__(self) -> None:
        for name in ("timeout_s", "resolve_s", "ping_s"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be > 0, got {getattr(self, name)}")
