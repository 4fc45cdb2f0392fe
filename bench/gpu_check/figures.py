"""What is measured, beside the bar that it must reach."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bar:
    """What a figure must be: between two numbers, both included.

    Parameters
    ----------
    text : str
        As a table shows it.
    least, most : float
        Of the figure.
    """

    text: str
    least: float = float("-inf")
    most: float = float("inf")

    def is_met(self, value: float) -> bool:
        """Whether the figure reaches it; what is not a number does not."""
        return self.least <= value <= self.most


SAME_OUTPUTS = Bar("<= 1e-3", most=1e-3)
LATENCY = Bar("<= 0.60", most=0.60)
THROUGHPUT = Bar(">= 1.8", least=1.8)
UNDER_LOAD = Bar("<= 0.40", most=0.40)
MEMORY = Bar("<= 0.80", most=0.80)
LINEAR = Bar("<= 1.02", most=1.02)
LINEAR_WITH_GRAPHS = Bar("< 1", most=1.0 - 1e-9)
DLRM_MEMORY = Bar("<= 0.10", most=0.10)
DLRM_LATENCY = Bar("<= 1.1", most=1.1)
PREDICTED = Bar("0.9 to 1.1", least=0.9, most=1.1)
OVERLAP = Bar(">= 0.60", least=0.60)


@dataclass(frozen=True)
class Figure:
    """One number.

    Parameters
    ----------
    what : str
        In words, its unit included.
    value : float or None
        None where it could not be had; ``note`` then says why.
    bar : str
        What it must be; empty where there is no bar.
    met : bool or None
        None without a bar or a value.
    note : str
        What a reader must know besides.
    """

    what: str
    value: float | None
    bar: str = ""
    met: bool | None = None
    note: str = ""


def figure(what: str, value: float | None, bar: Bar | None = None, note: str = "") -> Figure:
    """A number, judged by its bar."""
    met = None if bar is None or value is None else bar.is_met(value)
    return Figure(what, value, "" if bar is None else bar.text, met, note)


@dataclass(frozen=True)
class Found:
    """What a unit of work came to: figures, and the absolute numbers that they were made of."""

    figures: tuple[Figure, ...]
    details: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"figures": [asdict(row) for row in self.figures], "details": self.details}
