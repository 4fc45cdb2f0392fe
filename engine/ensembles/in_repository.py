"""An ensemble of a repository: its configuration read, and the models of its steps found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from surplus.engine.cache_folder import cache_folder
from surplus.engine.ensembles.ensemble import Ensemble, EnsembleStep, Port, StepModel
from surplus.engine.ensembles.merged_file import merged_file
from surplus.engine.ensembles.wiring import ordered_steps
from surplus.engine.errors import ConfigError
from surplus.engine.repository.layout import RepositoryEntry, is_model_folder, read_entries
from surplus.engine.repository.model_config import ModelConfig

_NEWEST = (-1, 0)


@dataclass(frozen=True)
class FoundEnsemble:
    """An ensemble, and the entry of each step's model.

    Parameters
    ----------
    steps : tuple of (EnsembleStep, RepositoryEntry)
        In the order of their running.
    """

    ensemble: Ensemble
    steps: tuple[tuple[EnsembleStep, RepositoryEntry], ...]


def read_ensemble(config: ModelConfig) -> Ensemble:
    """What a configuration says of steps and tensors."""
    message = config.message
    return Ensemble(
        config.name,
        [Port(entry.name, f"input[{i}]") for i, entry in enumerate(message.input)],
        [Port(entry.name, f"output[{i}]") for i, entry in enumerate(message.output)],
        [
            EnsembleStep(
                step.model_name,
                step.model_version,
                dict(step.input_map),
                dict(step.output_map),
                at=f"ensemble_scheduling.step[{i}]",
            )
            for i, step in enumerate(message.ensemble_scheduling.step)
        ],
        config.lines.wrong,
    )


def find_ensemble(entry: RepositoryEntry, within: tuple[str, ...] = ()) -> FoundEnsemble:
    """The steps' models, which lie beside the ensemble's folder.

    Parameters
    ----------
    within : tuple of str
        Ensembles that this one is a step of.

    Raises
    ------
    ConfigError
        If the wiring is wrong, or there is no such model or version; it names file, step and
        tensor.
    """
    assert entry.config is not None, "of an ensemble"
    ensemble = read_ensemble(entry.config)
    if not ensemble.steps:
        raise ensemble.wrong("ensemble_scheduling", "has no step")
    steps = ordered_steps(ensemble)
    names = (*within, entry.name)
    found = tuple((step, _entry(ensemble, step, entry.path.parent, names)) for step in steps)
    most = entry.config.message.max_batch_size
    for step, model in found:
        own = 0 if model.config is None else model.config.message.max_batch_size
        if 0 < own < most:
            raise ensemble.wrong(
                "max_batch_size", f"is {most}, but {own} of {step}, which is not to be split"
            )
    return FoundEnsemble(ensemble, found)


def as_one_file(
    entry: RepositoryEntry, cache: Path | None, within: tuple[str, ...] = ()
) -> RepositoryEntry:
    """The entry with the ONNX file of the whole; one that is of no ensemble as it is.

    Raises
    ------
    ConfigError, ModelError
        If the steps do not fit together, or one is no model.
    NotMerged
        If the steps must run in turn.
    """
    if entry.error or entry.config is None or not entry.config.is_ensemble:
        return entry
    found = find_ensemble(entry, within)
    cache = (cache or cache_folder()).absolute()
    names = (*within, entry.name)
    models = {
        step.at: StepModel(as_one_file(model, cache, names).path, _alone(model))
        for step, model in found.steps
    }
    return replace(entry, path=merged_file(found.ensemble, models, cache))


def _entry(
    ensemble: Ensemble, step: EnsembleStep, root: Path, within: tuple[str, ...]
) -> RepositoryEntry:
    at = f"{step.at}.model_name"
    folder = root / step.model
    if step.model in within:
        raise ensemble.wrong(at, f"{step.model!r} is a step of itself")
    if not step.model or "/" in step.model or not is_model_folder(folder):
        raise ensemble.wrong(at, f"there is no model {step.model!r} in {root}")
    found = read_entries(folder, step.model)
    if found[0].error:
        raise ConfigError(found[0].error)
    if step.version in _NEWEST:
        return found[-1]
    wanted = [entry for entry in found if entry.version == str(step.version)]
    if not wanted:
        served = ", ".join(entry.version for entry in found)
        raise ensemble.wrong(
            f"{step.at}.model_version",
            f"{step} has no version {step.version} that is served; it has {served}",
        )
    return wanted[0]


def _alone(entry: RepositoryEntry) -> str:
    """Why a step's model cannot be a part of a graph."""
    if entry.config is None:
        return ""
    message = entry.config.message
    if message.HasField("sequence_batching"):
        return "it keeps the state of sequences"
    for tensor in (*message.input, *message.output):
        if tensor.HasField("reshape"):
            return f"its configuration reshapes {tensor.name!r}"
    return ""
