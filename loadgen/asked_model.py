"""A model that queries ask for, and how they ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from surplus.loadgen.clients.inputs import InputParams
from surplus.loadgen.clock import NS_PER_S

_USUAL_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class AskedModel:
    """A model's part of a load.

    Parameters
    ----------
    name, version : str
        As the server has it; a file for models in this process. An empty version is its choice.
    weight : float
        Its share of the queries is this over the sum of all weights; > 0.
    timeout_s : float or None
        Of each query, > 0; None: 60 s, which over HTTP the server is not told.
    priority : int
        Told to the server where it is not 0, as Triton has it: 1 is the most urgent.
    inputs : InputParams
        Of its queries.
    """

    name: str
    version: str = ""
    weight: float = 1.0
    timeout_s: float | None = None
    priority: int = 0
    inputs: InputParams = field(default_factory=InputParams)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a model needs a name")
        if not 0 < self.weight < float("inf"):
            raise ValueError(f"model {self.name!r}: weight must be > 0, got {self.weight}")
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise ValueError(f"timeout must be > 0, got {self.timeout_s:g}s")
        if self.priority < 0:
            raise ValueError(f"model {self.name!r}: priority must be >= 0, got {self.priority}")

    @property
    def timeout_ns(self) -> int:
        """Of each query."""
        timeout_s = _USUAL_TIMEOUT_S if self.timeout_s is None else self.timeout_s
        return max(1, round(timeout_s * NS_PER_S))

    @property
    def parameters(self) -> dict[str, int]:
        """Of its requests, as the protocol's extensions have them, without the timeout."""
        return {"priority": self.priority} if self.priority else {}

    def describe(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "name": self.name,
            "version": self.version,
            "weight": self.weight,
            "timeout_ns": self.timeout_ns,
            "priority": self.priority,
        }


def parse_model(text: str) -> tuple[str, float]:
    """Read ``NAME`` or ``NAME=WEIGHT``.

    Raises
    ------
    ValueError
        If what is behind the last = is no weight.
    """
    name, equals, weight = text.rpartition("=")
    if not equals:
        return text, 1.0
    try:
        return name, float(weight)
    except ValueError:
        raise ValueError(f"model {text!r}: the weight {weight!r} is not a number") from None
