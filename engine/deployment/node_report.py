"""What a node is asked for, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from surplus.engine.deployment.server_process import Addresses
from surplus.engine.deployment.staged_models import Versions

ModelVersions = Mapping[str, Versions]
"""Models by name, with the versions that a node is to serve side by side."""


@dataclass(frozen=True)
class NodeReport:
    """A look at a node.

    Parameters
    ----------
    addresses : Addresses
        Of its server; empty while that starts.
    staged : mapping of str to tuple of int
        What the server was told to serve; what is asked for when it could be copied.
    ready : mapping of str to tuple of int
        What it serves.
    failed : mapping of str to str
        Why the server does not serve what is staged of a model.
    uncopied : mapping of str to str
        Why what is asked for is not staged.
    queries : mapping of str to int
        That came for each model since the server started.
    pending : int
        Queries between admission and answer.
    lanes : int
        That compute at once; >= 1.
    starts : int
        Of the server, with the first.
    options : tuple of str
        Of ``engine serve``, that the server runs with.
    error : str
        Why there is no server, or none with other options; empty if it only starts.
    """

    addresses: Addresses = field(default_factory=Addresses)
    staged: ModelVersions = field(default_factory=dict)
    ready: ModelVersions = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    uncopied: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, int] = field(default_factory=dict)
    pending: int = 0
    lanes: int = 1
    starts: int = 0
    options: tuple[str, ...] = ()
    error: str = ""

    @property
    def load(self) -> float:
        """Queries in flight a lane."""
        return self.pending / self.lanes
