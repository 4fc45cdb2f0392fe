"""What a module answers on random inputs, and whether an ONNX file answers the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine._core import Value
from engine.convert.agreement import Tolerance, require_agreement
from engine.convert.input_spec import InputSpec, example_sizes
from engine.convert.samples import Sample, draw, other_sizes
from engine.convert.source import Array, FinalError, ForwardError, Source
from engine.errors import ConversionError, one_line
from engine.native import open_session
from engine.values import from_value, to_value


@dataclass(frozen=True)
class Answered:
    """Inputs, and what the module answered."""

    sample: Sample
    outputs: list[Array]


def ask(source: Source, specs: Sequence[InputSpec], seeds: int) -> tuple[list[Answered], list[str]]:
    """Ask the module: ``seeds`` times at the example's sizes, then at others of each axis.

    Returns
    -------
    answered : list of Answered
    notes : list of str
        Sizes that the module itself refuses.

    Raises
    ------
    ConversionError
        If it fails on the example, or at every other size of an axis.
    """
    sizes = example_sizes(specs)
    answered = [_answered(source, draw(specs, seed, sizes)) for seed in range(seeds)]
    notes: list[str] = []
    if seeds:
        for name, others in other_sizes(specs).items():
            tried = [draw(specs, seeds, {**sizes, name: size}) for size in others]
            answered += _accepted(source, name, tried, notes)
    return answered, notes


def require_same(
    file: Path,
    source: Source,
    names: Sequence[str],
    answered: Sequence[Answered],
    tolerance: Tolerance,
) -> float:
    """Run an ONNX file in ONNX Runtime on the same inputs.

    Returns
    -------
    float
        The largest difference of all.

    Raises
    ------
    ConversionError
        Naming the output that differs, by how much, where, and on which inputs.
    """
    try:
        session = open_session(str(file))
    except RuntimeError as error:
        raise ConversionError(
            f"ONNX Runtime refuses the exported model: {one_line(error, 300)}"
        ) from error
    largest = 0.0
    for one in answered:
        values: dict[str, Value | None] = {
            name: to_value(array) for name, array in one.sample.inputs.items()
        }
        try:
            outputs = [from_value(value) for value in session.run(values)]
            largest = max(largest, require_agreement(names, one.outputs, outputs, tolerance))
        except RuntimeError as error:
            raise ConversionError(
                f"the ONNX model fails on {one.sample.label}: {one_line(error, 300)}"
            ) from error
        except ConversionError as error:
            _require_repeatable(source, names, one, tolerance)
            raise ConversionError(
                f"the ONNX model is wrong: {error} ({one.sample.label})"
            ) from error
    return largest


def _answered(source: Source, sample: Sample) -> Answered:
    try:
        return Answered(sample, source.answer(sample.inputs))
    except ForwardError as error:
        raise refusal(sample.inputs, error) from error


def refusal(inputs: Mapping[str, Array], error: ForwardError) -> ConversionError:
    """Say on what the module fails."""
    shapes = ", ".join(
        f"{name} {array.dtype}[{', '.join(map(str, array.shape))}]"
        for name, array in inputs.items()
    )
    return ConversionError(f"forward, given {shapes}, {error}")


def _accepted(
    source: Source, axis: str, samples: Sequence[Sample], notes: list[str]
) -> list[Answered]:
    """Answers at size 1 and at one more size; a module may have its reasons to refuse some."""
    found: list[Answered] = []
    refused: dict[int, str] = {}
    for sample in samples:
        size = sample.sizes[axis]
        if found and size != 1:
            continue
        try:
            found.append(Answered(sample, source.answer(sample.inputs)))
        except ForwardError as error:
            refused[size] = str(error)
    sizes = ", ".join(map(str, refused))
    if not found:
        raise ConversionError(
            f"axis {axis!r} is not dynamic: at every other size tried ({sizes}) forward"
            f" {next(iter(refused.values()))}"
        )
    if refused:
        notes.append(f"not checked where torch itself refuses: {axis}={sizes}")
    return found


def _require_repeatable(
    source: Source, names: Sequence[str], one: Answered, tolerance: Tolerance
) -> None:
    """A module that is random differs from anything, itself included."""
    try:
        require_agreement(names, one.outputs, source.answer(one.sample.inputs), tolerance)
    except (ConversionError, ForwardError) as error:
        raise FinalError(
            "cannot be checked: torch itself answers differently each time on the same inputs"
            " (--seeds 0 leaves the check out)"
        ) from error
