"""The merged graph of an ensemble as a file of the cache, that is loaded as any model is."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import onnx

from surplus.engine.cache.private import private_folder, write_private
from surplus.engine.dfg.constants import external_place, tensors_of_model
from surplus.engine.dfg.file_hashes import hashes_in
from surplus.engine.dfg.model_file import external_files, external_names, parse, source_hash
from surplus.engine.ensembles.ensemble import Ensemble, StepModel
from surplus.engine.ensembles.merging import NotMerged, merged
from surplus.engine.ensembles.part import step_folder
from surplus.engine.ensembles.wiring import ordered_steps

_FORMAT = 1
"""Counts up when the same steps are merged otherwise."""

_UNUSED_S = 30 * 24 * 3600
_LARGE_BYTES = 1 << 10
_MOST_BYTES = 1 << 30
"""A file of protobuf holds less than 2 GiB: weights beyond that go into one beside it."""

_WEIGHTS = "weights.bin"


def merged_file(ensemble: Ensemble, models: Mapping[str, StepModel], cache: Path) -> Path:
    """The file of an ensemble; one that is there, where neither steps nor wiring have changed.

    Weights that lie in files of their own are not copied, where a link can be made.

    Parameters
    ----------
    models : mapping of str to StepModel
        By the step's ``at``.

    Raises
    ------
    ConfigError
        If the steps do not fit together, naming file, step and tensor.
    ModelError
        If a step's file is no model.
    NotMerged
        If the steps have no graph in common; it says why.
    """
    for step in ensemble.steps:
        if reason := models[step.at].alone:
            raise NotMerged(f"{step}: {reason}")
    memo = hashes_in(cache)
    parsed = {step.at: parse(models[step.at].path) for step in ensemble.steps}
    hashes = {at: source_hash(model, models[at].path, memo) for at, model in parsed.items()}
    every = private_folder(cache / "ensembles")
    folder = every / f"{ensemble.name}-{_key(ensemble, hashes)}"
    file = folder / f"{ensemble.name}.onnx"
    if file.is_file():
        os.utime(folder)
        return file
    _remove_unused(every)
    steps = ordered_steps(ensemble)
    weights = {
        i: external_files(parsed[step.at], models[step.at].path) for i, step in enumerate(steps)
    }
    names = {
        i: external_names(parsed[step.at], models[step.at].path) for i, step in enumerate(steps)
    }
    model = merged(ensemble, parsed)
    private_folder(folder)
    for place in weights:
        for source, name in zip(weights[place], names[place], strict=True):
            _link(source, folder / step_folder(place) / name)
    if model.ByteSize() > _MOST_BYTES:
        _move_out(model, folder / _WEIGHTS)
    write_private(file, model.SerializeToString())
    return file


def _key(ensemble: Ensemble, hashes: Mapping[str, str]) -> str:
    """What the merged graph depends on, as a short name."""
    steps = [
        [s.model, list(s.inputs.items()), list(s.outputs.items()), hashes[s.at]]
        for s in ensemble.steps
    ]
    ports = [[p.name for p in side] for side in (ensemble.inputs, ensemble.outputs)]
    text = json.dumps([_FORMAT, onnx.__version__, steps, ports])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _link(source: Path, target: Path) -> None:
    """Have the same content there; it is there where somebody was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        return
    part = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        os.link(source.resolve(), part)
    except OSError:  # another file system
        shutil.copyfile(source, part)
    part.replace(target)


def _move_out(model: onnx.ModelProto, file: Path) -> None:
    with file.open("wb") as target:
        for tensor in tensors_of_model(model):
            if external_place(tensor) is None and len(tensor.raw_data) >= _LARGE_BYTES:
                target.write(b"\0" * (-target.tell() % 64))
                onnx.external_data_helper.set_external_data(
                    tensor, file.name, target.tell(), len(tensor.raw_data)
                )
                target.write(tensor.raw_data)
                tensor.ClearField("raw_data")


def _remove_unused(every: Path) -> None:
    """What was merged of ensembles that nobody has loaded for long."""
    for folder in every.iterdir():
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _UNUSED_S:
                shutil.rmtree(folder)
