"""The extension point of models in this process: what loads and runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from surplus.loadgen.clients.tensors import Answer

Feed = Mapping[str, NDArray[np.generic]]
"""Arrays by input name."""


class LoadedModel(Protocol):
    """A model that answers; many threads may ask at once."""

    def run(self, feed: Feed, priority: int) -> Answer:
        """Answer a query; any exception means that it failed.

        ``priority`` is 0, or Triton's: 1 is the most urgent. Who knows none ignores it.
        """
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


RUNTIMES: dict[str, Callable[[str], LoadedModel]] = {}
"""By name: what loads an ONNX file. Raises TargetError saying why it cannot."""


def register(
    name: str,
) -> Callable[[Callable[[str], LoadedModel]], Callable[[str], LoadedModel]]:
    """Register what loads a file under a name."""

    def put(load: Callable[[str], Any]) -> Callable[[str], Any]:
        RUNTIMES[name] = load
        return load

    return put
