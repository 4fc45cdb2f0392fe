"""Which servers are asked, and when one is asked no more."""

from __future__ import annotations

from dataclasses import dataclass, field

from surplus.loadgen.transport import TlsParams
from surplus.routing.client_params import EjectionParams
from surplus.routing.resolver import ReplicaAddress

_LEAST_UNHEARD_S = 0.1


@dataclass(frozen=True)
class RouteParams:
    """What ``engine route`` is told.

    Parameters
    ----------
    servers : tuple of ReplicaAddress
        What they serve is routed; queries over REST as they are, where all that have a model are
        known by REST, too.
    resolver : str
        ``http://host:port`` of a cluster's resolver instead; empty: none.
    models : tuple of str
        With a resolver: which models are routed; at least one.
    look_s : float
        How often servers are asked what they serve, or the resolver who has a model; > 0.
    wait_s : float
        How long to wait at the start until some model is found, >= 0.
    token : str
        Shown to the servers; empty: none.
    tls : TlsParams or None
        What is encrypted to the servers, over gRPC and REST.
    unheard_s : float
        A server that says nothing for so long, where queries wait, is lost; >= 0.1.
    ejection : EjectionParams
        When a server is asked no more.
    """

    servers: tuple[ReplicaAddress, ...] = ()
    resolver: str = ""
    models: tuple[str, ...] = ()
    look_s: float = 1.0
    wait_s: float = 10.0
    token: str = ""
    tls: TlsParams | None = None
    unheard_s: float = 5.0
    ejection: EjectionParams = field(default_factory=EjectionParams)

    def __post_init__(self) -> None:
        if bool(self.servers) == bool(self.resolver):
            raise ValueError("servers are given, or a resolver that knows them: one of both")
        if bool(self.resolver) != bool(self.models):
            raise ValueError("a resolver and names of models go together")
        if not self.look_s > 0:
            raise ValueError(f"look_s must be above 0, got {self.look_s}")
        if not self.unheard_s >= _LEAST_UNHEARD_S:
            least = f"{_LEAST_UNHEARD_S:g}"
            raise ValueError(f"unheard_s must be at least {least}, got {self.unheard_s}")
        if not self.wait_s >= 0:
            raise ValueError(f"wait_s must be at least 0, got {self.wait_s}")
