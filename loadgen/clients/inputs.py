"""Which inputs every query carries: given by the user, or made from the server's metadata."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from surplus.loadgen.clients.images import ImageParams, image_tensors
from surplus.loadgen.clients.tensors import DATATYPES, FILLS, RawTensor, from_array
from surplus.loadgen.errors import PayloadError

_INPUT = re.compile(r"(?P<name>.+):(?P<shape>[\d,]*):(?P<datatype>[A-Z0-9]+)(:(?P<fill>\w+))?")
_SHAPE = re.compile(r"(?P<name>.+):(?P<shape>[\d,]*)")
MESSAGE_BYTES = 2**31
"""What protobuf's messages stay below."""


@dataclass(frozen=True)
class ModelInput:
    """An input to make up: ``name:1,3,320,320:FP32[:random|zeros]``."""

    name: str
    shape: tuple[int, ...]
    datatype: str
    fill: str = "random"

    @staticmethod
    def parse(text: str) -> ModelInput:
        """Read the command line's form.

        Raises
        ------
        PayloadError
            Naming the part that is wrong.
        """
        match = _INPUT.fullmatch(text)
        if match is None:
            raise PayloadError(f"input {text!r} is not name:shape:datatype[:random|zeros]")
        if match["datatype"] not in DATATYPES:
            raise PayloadError(f"input {text!r}: datatype must be one of {', '.join(DATATYPES)}")
        if (match["fill"] or "random") not in FILLS:
            raise PayloadError(f"input {text!r}: fill must be one of {', '.join(FILLS)}")
        shape = _dimensions(match["shape"], text)
        return ModelInput(match["name"], shape, match["datatype"], match["fill"] or "random")


@dataclass(frozen=True)
class InputParams:
    """Inputs of every query.

    Parameters
    ----------
    file : Path or None
        An ``.npz`` file whose arrays are named like inputs, or a folder of them, which queries take
        turns through.
    specs : tuple of ModelInput
        Inputs to make up without asking the server.
    shapes : mapping of str to shape
        Shapes for inputs of which the server's metadata leaves dimensions open.
    seed : int
        Of the random values.
    images : ImageParams or None
        Pictures for one input; queries take turns through them.
    """

    file: Path | None = None
    specs: tuple[ModelInput, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    images: ImageParams | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")


@dataclass(frozen=True)
class TensorMetadata:
    """An input as the server describes it; open dimensions are -1."""

    name: str
    datatype: str
    shape: tuple[int, ...]


def parse_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``name:1,3,320,320``.

    Raises
    ------
    PayloadError
        If the text has another form.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise PayloadError(f"shape {text!r} is not name:dimension,dimension,...")
    return match["name"], _dimensions(match["shape"], text)


def make_inputs(params: InputParams, metadata: Sequence[TensorMetadata]) -> list[RawTensor]:
    """Make one query's inputs: from the file, else as specified, else random as described.

    Raises
    ------
    PayloadError
        Naming the input that is unknown to the server, or cannot be made.
    """
    generator = np.random.default_rng(params.seed)
    given = {tensor.name: tensor for tensor in _from_file(params.file)}
    for spec in params.specs:
        if spec.name in given:
            raise PayloadError(f"input {spec.name!r} is given twice")
        given[spec.name] = _filled(spec, generator)
    if both := [name for name in params.shapes if name in given]:
        raise PayloadError(f"input {both[0]!r} is given: a shape for it is one too many")
    known = [tensor.name for tensor in metadata]
    for name in [*given, *params.shapes]:
        if name not in known:
            raise PayloadError(f"the model has no input {name!r}; it has: {', '.join(known)}")
    return [given.get(row.name) or _made(row, params.shapes, generator) for row in metadata]


def make_queries(params: InputParams, metadata: Sequence[TensorMetadata]) -> list[list[RawTensor]]:
    """As ``make_inputs``; several where there are several pictures, or files in a folder.

    Raises
    ------
    PayloadError
        As there, and if a picture cannot be read, or no input takes one.
    """
    if params.images is None:
        return [make_inputs(replace(params, file=f), metadata) for f in _files(params.file)]
    rows = [(m.name, m.datatype, params.shapes.get(m.name, m.shape)) for m in metadata]
    pictures = image_tensors(params.images, rows)
    others = [row for row in metadata if row.name != pictures[0].name]
    shapes = {name: s for name, s in params.shapes.items() if name != pictures[0].name}
    rest = {t.name: t for t in make_inputs(replace(params, shapes=shapes, images=None), others)}
    return [[rest.get(row.name, picture) for row in metadata] for picture in pictures]


def _made(
    row: TensorMetadata, shapes: Mapping[str, tuple[int, ...]], generator: np.random.Generator
) -> RawTensor:
    shape = shapes.get(row.name, row.shape)
    if any(size < 0 for size in shape):
        raise PayloadError(
            f"input {row.name!r} has shape {list(shape)} with open dimensions:"
            f" give one, as in --shape {row.name}:{','.join(str(abs(s)) for s in shape)}"
        )
    if row.datatype not in DATATYPES:
        raise PayloadError(f"input {row.name!r}: datatype {row.datatype!r} is not supported")
    return _filled(ModelInput(row.name, shape, row.datatype), generator)


def _filled(spec: ModelInput, generator: np.random.Generator) -> RawTensor:
    if math.prod(spec.shape) >= MESSAGE_BYTES:
        raise PayloadError(
            f"input {spec.name!r}: shape {list(spec.shape)} is more than a message of"
            f" {MESSAGE_BYTES} bytes holds"
        )
    try:
        return FILLS[spec.fill](spec.name, spec.datatype, spec.shape, generator)
    except (MemoryError, ValueError) as error:
        raise PayloadError(f"input {spec.name!r}: {error}") from error


def _files(path: Path | None) -> Sequence[Path | None]:
    """Of a folder, by name; anything else is one."""
    if path is None or not path.is_dir():
        return [path]
    found = sorted(path.glob("*.npz"))
    if not found:
        raise PayloadError(f"no .npz in {path}")
    return found


def _from_file(file: Path | None) -> list[RawTensor]:
    if file is None:
        return []
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return [from_array(name, arrays[name]) for name in arrays.files]
    except (OSError, ValueError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise PayloadError(f"cannot read {file} as .npz: {error}") from error


def _dimensions(text: str, whole: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(",")) if text else ()
    except ValueError:
        raise PayloadError(f"{whole!r}: shape {text!r} is not numbers between commas") from None
