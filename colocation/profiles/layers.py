"""A model layer by layer: VELTAIR's published times of ResNet-50, and networks derived from them.

References
----------
VELTAIR (ASPLOS'22): the times are of its public release; what versions cost and bear is stated in
the scenario, as none of its tables says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from surplus.colocation.frame.profile import PROFILES, checked_deviation
from surplus.colocation.policies.veltair.derived import NETWORKS, derive
from surplus.colocation.policies.veltair.layer_profile import LayerProfile, read_layer_profile
from surplus.colocation.policies.veltair.resnet50 import resnet50_operations

_MEASURED = "resnet50"
_CORES = tuple(range(8, 65, 8))


@PROFILES.register("layers")
class Layers:
    """Times of layers on cores; a batch takes as long as its items one after the other.

    Parameters
    ----------
    path : str
        The table of ResNet-50's layers.
    model : str
        ``resnet50``, or ``derived_NAME`` for a network of ``NETWORKS``.
    versions : sequence of mapping
        ``time`` of each version alone, as a factor, and its ``sensitivity`` as measured under load:
        it takes ``1 + sensitivity x pressure`` times as long.
    deviation : float
        Relative standard deviation, >= 0.

    Raises
    ------
    ValueError
        If the table cannot be read, the model or a version is unknown, or a number out of range.
    """

    def __init__(
        self,
        path: str,
        model: str = _MEASURED,
        versions: Sequence[Mapping[str, float]] = ({"time": 1.0, "sensitivity": 0.0},),
        deviation: float = 0.0,
    ) -> None:
        if not versions or any(set(row) != {"time", "sensitivity"} for row in versions):
            raise ValueError(f"versions need time and sensitivity, got {list(versions)}")
        if any(not row["time"] > 0 or not row["sensitivity"] >= 0 for row in versions):
            raise ValueError(f"time > 0, sensitivity >= 0, got {list(versions)}")
        self._times, self.operations = _known(Path(path), model)
        self.cores = self._times.cores
        self._factors = tuple(row["time"] for row in versions)
        self.sensitivities = tuple(row["sensitivity"] for row in versions)
        self._deviation = checked_deviation(deviation)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        """The first version of all layers on the cores that a share is."""
        return items * self._times.share_ns(0, len(self.operations), share_percent)

    def spread(self, items: int, sequence: int) -> float:
        """The stated one."""
        return self._deviation

    def operator_ns(self, items: int, sequence: int, version: int) -> tuple[tuple[int, ...], ...]:
        """Times of the layers, by number of cores."""
        factor = items * self._factors[version]
        return tuple(
            tuple(max(1, round(time_ns * factor)) for time_ns in row)
            for row in self._times.times_ns
        )


@cache
def _known(path: Path, model: str) -> tuple[LayerProfile, tuple[int, ...]]:
    try:
        measured = read_layer_profile(path, _CORES)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    operations = resnet50_operations()
    layers = len(measured.times_ns)
    if layers != len(operations):
        raise ValueError(f"{path}: {layers} layers, ResNet-50 has {len(operations)}")
    if model == _MEASURED:
        return measured, operations
    name = model.removeprefix("derived_")
    if name == model or name not in NETWORKS:
        known = ", ".join([_MEASURED, *(f"derived_{name}" for name in NETWORKS)])
        raise ValueError(f"unknown model {model!r}; there are: {known}")
    return derive(measured, operations, NETWORKS[name])
