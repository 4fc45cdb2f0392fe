"""From a source to files: export, optimise, compare, publish."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import onnx

from surplus.engine.convert.agreement import Tolerance
from surplus.engine.convert.answers import Answered, ask, ask_more, refusal, require_same
from surplus.engine.convert.input_spec import InputSpec, example_sizes
from surplus.engine.convert.output_tree import distinct
from surplus.engine.convert.publish import INLINE_LIMIT_BYTES, assemble, publish, save_inputs
from surplus.engine.convert.samples import Sample, draw
from surplus.engine.convert.size_one_axes import way_out
from surplus.engine.convert.source import (
    Array,
    DecidesError,
    ExportRequest,
    FinalError,
    ForwardError,
    Source,
)
from surplus.engine.convert.staging import staging
from surplus.engine.convert.value_names import rename, strip
from surplus.engine.dfg.constants import domains_used
from surplus.engine.dfg.model_file import parse
from surplus.engine.dfg.optimise import optimise
from surplus.engine.dfg.stored_files import MODEL_FILE, WEIGHTS_FILE
from surplus.engine.errors import ConfigError, ConversionError, ModelError

AUTO = "auto"

_STANDARD_DOMAINS = {"", "ai.onnx.ml"}


@dataclass(frozen=True)
class ConvertParams:
    """What to convert to.

    Parameters
    ----------
    inputs : sequence of InputSpec
        In the order of the module's arguments.
    output_names : sequence of str
        Empty: from the structure of what the module returns.
    opset : int or None
        Version of the standard operators; None: the exporter's choice.
    exporter : str
        One of the source's, or ``auto``: the first whose file answers as the module does.
    seeds : int
        How many random inputs to compare on, >= 0; with 0 none, nor other sizes.
    own : Sample or None
        The user's inputs: the example, if none of its dynamic axes is of size 1, and compared, too.
    write_inputs : bool
        Whether to write the example inputs beside the model.
    inline_limit_bytes : int
        Weights above this size get their own file.

    Raises
    ------
    ConfigError
        Naming the value that is wrong.
    """

    inputs: Sequence[InputSpec]
    output_names: Sequence[str] = ()
    opset: int | None = None
    exporter: str = AUTO
    seeds: int = 3
    own: Sample | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    write_inputs: bool = True
    inline_limit_bytes: int = INLINE_LIMIT_BYTES

    def __post_init__(self) -> None:
        newest = onnx.defs.onnx_opset_version()
        if self.opset is not None and not 7 <= self.opset <= newest:
            raise ConfigError(f"opset must be in 7..{newest}, got {self.opset}")
        if self.seeds < 0:
            raise ConfigError(f"seeds must be >= 0, got {self.seeds}")
        names = [*(spec.name for spec in self.inputs), *self.output_names]
        for name in names:
            if not name:
                raise ConfigError("an output's name is empty")
            if names.count(name) > 1:
                raise ConfigError(f"{name!r} names two inputs or outputs")


@dataclass(frozen=True)
class Conversion:
    """What was made.

    Parameters
    ----------
    checked : tuple of str
        The inputs on which torch and ONNX agree.
    largest_difference : float
        Absolute, over all elements of all outputs; None if nothing was compared.
    """

    model: Path
    inputs: Path | None
    exporter: str
    opset: int
    checked: tuple[str, ...]
    largest_difference: float | None
    notes: tuple[str, ...]


def convert(source: Source, params: ConvertParams, path: Path) -> Conversion:
    """Write ``source`` as ONNX, if its ONNX form answers as it does; else write nothing.

    Raises
    ------
    ConversionError
        In one line: what fails, has no ONNX form, or differs; for each exporter that was tried.
    OSError
        If the files cannot be written.
    """
    example = _example(params)
    names = _output_names(source, example, params)
    own = [params.own] if params.own else []
    answered, notes = ask(source, params.inputs, params.seeds, own)
    asked = _Asked(source, params, example, names, answered)
    with staging(path) as folder:
        made = _first_that_works(asked, folder, path.name)
        inputs = _saved_inputs(example, folder / "inputs.npz", params, notes)
        publish(made.staged, made.data, inputs, path)
    return Conversion(
        model=path,
        inputs=path.with_suffix(".npz") if inputs else None,
        exporter=made.exporter,
        opset=made.opset,
        checked=tuple(one.sample.label for one in made.answered),
        largest_difference=made.largest_difference if made.answered else None,
        notes=(*made.notes, *notes),
    )


def _example(params: ConvertParams) -> Mapping[str, Array]:
    """What is exported with; torch takes a dynamic axis of size 1 for a fixed one."""
    if params.own is not None and 1 not in params.own.sizes.values():
        return params.own.inputs
    return draw(params.inputs, 0, example_sizes(params.inputs)).inputs


@dataclass(frozen=True)
class _Asked:
    """The module, and what it answered."""

    source: Source
    params: ConvertParams
    example: Mapping[str, Array]
    names: Sequence[str]
    answered: Sequence[Answered]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Made:
    """Files that answer as the module does, not yet in place."""

    exporter: str
    staged: Path
    data: Path | None
    opset: int
    answered: Sequence[Answered]
    largest_difference: float
    notes: tuple[str, ...]


def _first_that_works(asked: _Asked, folder: Path, name: str) -> _Made:
    chosen = asked.params.exporter
    failures: dict[str, str] = {}
    for exporter in asked.source.exporters if chosen == AUTO else [chosen]:
        inner = folder / exporter
        inner.mkdir()
        try:
            made = _made(asked, exporter, inner, name)
            tried = [f"{other} could not: {reason}" for other, reason in failures.items()]
            return replace(made, notes=(*tried, *made.notes))
        except FinalError:
            raise
        except ConversionError as error:
            if isinstance(error, DecidesError):
                asked = _more_asked(asked)
            failures[exporter] = str(error)
            shutil.rmtree(inner)
    if len(set(failures.values())) == 1:
        said = next(iter(failures.values()))
    else:
        said = "; ".join(f"{other}: {reason}" for other, reason in failures.items())
    raise ConversionError("; ".join(filter(None, (said, way_out(asked.params.inputs)))))


def _made(asked: _Asked, exporter: str, folder: Path, name: str) -> _Made:
    exported, staged = folder / "exported.onnx", folder / name
    notes = _export(asked, exporter, exported)
    model = _optimised(exported, folder / "optimised")
    weights = folder / "optimised" / WEIGHTS_FILE
    data = assemble(model, weights, staged, asked.params.inline_limit_bytes)
    found = require_same(staged, asked.source, asked.names, asked.answered, asked.params.tolerance)
    return _Made(
        exporter=exporter,
        staged=staged,
        data=data,
        opset=next(i.version for i in model.opset_import if i.domain in ("", "ai.onnx")),
        answered=asked.answered,
        largest_difference=found.largest,
        notes=(*notes, *found.notes, *asked.notes),
    )


def _more_asked(asked: _Asked) -> _Asked:
    """Before an exporter that traces: what the module decides by its data, that one freezes."""
    more = ask_more(asked.source, asked.params.inputs, asked.params.seeds)
    answered = [*asked.answered, *more]
    note = (
        "what forward decides by the data is frozen: right for data that decide as the"
        f" {len(answered)} inputs compared (--inputs F.npz checks on your own)"
    )
    return replace(asked, answered=answered, notes=(note,))


def _output_names(source: Source, example: Mapping[str, Array], params: ConvertParams) -> list[str]:
    try:
        found = source.output_names(example)
    except ForwardError as error:
        raise refusal(example, error) from error
    if not params.output_names:
        return distinct(found, [spec.name for spec in params.inputs])
    if len(params.output_names) != len(found):
        raise ConversionError(
            f"--output-names has {len(params.output_names)} names, forward returns {len(found)}"
            f" tensors: {', '.join(found)}"
        )
    return list(params.output_names)


def _export(asked: _Asked, exporter: str, path: Path) -> list[str]:
    """Export with names that no value inside has, then give the ones that are wanted."""
    specs = asked.params.inputs
    inputs = {f"surplus.input.{i}": spec.name for i, spec in enumerate(specs)}
    outputs = {f"surplus.output.{i}": name for i, name in enumerate(asked.names)}
    request = ExportRequest(specs, asked.example, list(inputs), list(outputs), asked.params.opset)
    notes = asked.source.export(exporter, request, path)
    model = parse(path)
    rename(model, inputs | outputs)
    strip(model)
    path.write_bytes(model.SerializeToString())
    return notes


def _optimised(path: Path, folder: Path) -> onnx.ModelProto:
    folder.mkdir()
    try:
        optimise(path, parse(path), folder)
        model = parse(folder / MODEL_FILE)
    except ModelError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise ConversionError(f"ONNX Runtime refuses the exported model: {reason}") from error
    strange = domains_used(model) - _STANDARD_DOMAINS
    if strange:
        raise ConversionError(
            f"needs operators that are not standard: {', '.join(sorted(strange))}"
        )
    return model


def _saved_inputs(
    example: Mapping[str, Array], path: Path, params: ConvertParams, notes: list[str]
) -> Path | None:
    if not params.write_inputs:
        return None
    if any(spec.dtype == "bfloat16" for spec in params.inputs):
        notes.append("no example inputs: .npz files have no bfloat16")
        return None
    save_inputs(example, path)
    return path
