"""From a source to files: export, optimise, compare, publish."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from engine.convert.agreement import Tolerance
from engine.convert.answers import ask, require_same, shapes
from engine.convert.input_spec import InputSpec, example_sizes
from engine.convert.output_tree import distinct
from engine.convert.publish import INLINE_LIMIT_BYTES, assemble, publish, save_inputs
from engine.convert.samples import draw
from engine.convert.source import Array, Exported, ExportRequest, ForwardError, Source
from engine.convert.value_names import rename, strip
from engine.dfg.constants import domains_used
from engine.dfg.model_file import parse
from engine.dfg.optimise import MODEL_FILE, WEIGHTS_FILE, optimise
from engine.errors import ConfigError, ConversionError, ModelError

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
        ``auto``, ``dynamo`` or ``torchscript``.
    seeds : int
        How many random inputs to compare on, >= 0; with 0 nothing is compared.
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
    exporter: str = "auto"
    seeds: int = 3
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
        The random inputs on which torch and ONNX agree.
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
        In one line: what fails, has no ONNX form, or differs.
    OSError
        If the files cannot be written.
    """
    example = draw(params.inputs, 0, example_sizes(params.inputs)).inputs
    names = _output_names(source, example, params)
    answered, notes = ask(source, params.inputs, params.seeds)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as name:
        folder = Path(name)
        exported = _export(source, params, example, names, folder / "exported.onnx")
        model = _optimised(folder / "exported.onnx", folder / "optimised")
        staged = folder / path.name
        data = assemble(
            model, folder / "optimised" / WEIGHTS_FILE, staged, params.inline_limit_bytes
        )
        largest = require_same(staged, source, names, answered, params.tolerance)
        inputs = _saved_inputs(example, folder / "inputs.npz", params, notes)
        publish(staged, data, inputs, path)
    return Conversion(
        model=path,
        inputs=path.with_suffix(".npz") if inputs else None,
        exporter=exported.exporter,
        opset=next(i.version for i in model.opset_import if i.domain in ("", "ai.onnx")),
        checked=tuple(one.sample.label for one in answered),
        largest_difference=largest if answered else None,
        notes=(*exported.notes, *notes),
    )


def _output_names(source: Source, example: Mapping[str, Array], params: ConvertParams) -> list[str]:
    try:
        found = source.output_names(example)
    except ForwardError as error:
        raise ConversionError(
            f"forward fails on the example ({shapes(example)}) {error}"
        ) from error
    if not params.output_names:
        return distinct(found, [spec.name for spec in params.inputs])
    if len(params.output_names) != len(found):
        raise ConversionError(
            f"--output-names has {len(params.output_names)} names, forward returns {len(found)}"
            f" tensors: {', '.join(found)}"
        )
    return list(params.output_names)


def _export(
    source: Source,
    params: ConvertParams,
    example: Mapping[str, Array],
    names: Sequence[str],
    path: Path,
) -> Exported:
    """Export with names that no value inside has, then give the ones that are wanted."""
    inputs = {f"surplus.input.{i}": spec.name for i, spec in enumerate(params.inputs)}
    outputs = {f"surplus.output.{i}": name for i, name in enumerate(names)}
    request = ExportRequest(
        params.inputs, example, list(inputs), list(outputs), params.opset, params.exporter
    )
    exported = source.export(request, path)
    model = parse(path)
    rename(model, inputs | outputs)
    strip(model)
    path.write_bytes(model.SerializeToString())
    return exported


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
