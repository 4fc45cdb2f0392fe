"""A model on the check's GPU opened in two ways: what the second lets through, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.gpu_check.contender import of_model
from bench.gpu_check.figures import SAME_OUTPUTS, Figure, figure
from bench.gpu_check.parts import ModelSpec
from bench.gpu_check.queries import peak_per_s
from bench.gpu_check.relative_error import relative_error
from bench.gpu_check.setting import Setting
from bench.gpu_check.subject import Subject


@dataclass(frozen=True)
class TwoWays:
    """What came of it.

    Parameters
    ----------
    peaks : list of (float, int)
        Queries a second, and how many in flight gave that, of each.
    error : float
        Of the second's outputs, relative to the first's.
    throughput_plan : str
        The second's; empty if it has none.
    """

    peaks: list[tuple[float, int]]
    error: float
    throughput_plan: str

    @property
    def ratio(self) -> float:
        """The second's peak over the first's."""
        return self.peaks[1][0] / self.peaks[0][0]

    def same_outputs(self, what: str) -> Figure:
        """The error, judged."""
        return figure(f"outputs: {what}", self.error, SAME_OUTPUTS)


def two_ways(spec: ModelSpec, setting: Setting, devices: tuple[str, str], each_s: float) -> TwoWays:
    """Measure the engine on either list of devices, ``each_s`` seconds each."""
    subjects = [Subject(spec, replace(setting, devices=text)) for text in devices]
    models = [subject.engine() for subject in subjects]
    contenders = [
        of_model(text, model, subject.inputs)
        for text, model, subject in zip(devices, models, subjects, strict=True)
    ]
    peaks = [peak_per_s(contender, each_s) for contender in contenders]
    same, other = (contender.run() for contender in contenders)
    chosen = models[1].throughput_plan
    text = "" if chosen is None else chosen.text
    return TwoWays(peaks, relative_error(other, same), text)
