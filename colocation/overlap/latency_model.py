"""Latency models of operator groups, as they are served: a few arrays and a layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surplus.colocation.overlap.features import Layout, Rows
from surplus.colocation.overlap.perceptron import Array, Perceptron, pack, unpack

_FORMAT = "latency model"


@dataclass(frozen=True)
class LatencyModel:
    """From operator groups to milliseconds; whatever was trained is run by the same lines.

    Parameters
    ----------
    kind : str
        How it was trained: "mlp", "linear", "svm".
    layout : Layout
        What its rows mean.
    perceptron : Perceptron
        Any scaling of the inputs is in its first layer, of the output in its last.

    Raises
    ------
    ValueError
        If layout and perceptron do not fit.
    """

    kind: str
    layout: Layout
    perceptron: Perceptron

    def __post_init__(self) -> None:
        if self.perceptron.inputs != self.layout.width:
            text = f"{self.perceptron.inputs} inputs for rows of {self.layout.width}"
            raise ValueError(f"latency model {self.kind!r}: {text}")

    def latency_ms(self, rows: Rows) -> Array:
        """Predict each of the rows; array ``(rows,)``."""
        return self.perceptron(rows)

    def to_bytes(self) -> bytes:
        """Make a file of it."""
        layout = self.layout
        about = {
            "format": _FORMAT,
            "kind": self.kind,
            "models": layout.models,
            "operators": layout.operators,
            "slots": layout.slots,
        }
        return pack(about, self.perceptron.arrays())


def load_latency_model(path: Path) -> LatencyModel:
    """Read a model that ``to_bytes`` made.

    Raises
    ------
    ValueError
        If the file is something else, or damaged.
    OSError
        If it cannot be read.
    """
    about, arrays = unpack(path, _FORMAT)
    try:
        layout = Layout(tuple(about["models"]), tuple(about["operators"]), about["slots"])
        return LatencyModel(about["kind"], layout, Perceptron.of_arrays(arrays))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: a damaged latency model ({error})") from error
