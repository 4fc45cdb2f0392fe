"""What a module answers on random inputs and given ones, and whether an ONNX file does, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surplus.engine._core import Value
from surplus.engine.convert.agreement import Tolerance, agree_but_for_ties, require_agreement
from surplus.engine.convert.input_spec import InputSpec, example_sizes
from surplus.engine.convert.samples import Sample, draw, other_sizes
from surplus.engine.convert.source import Array, FinalError, ForwardError, Source
from surplus.engine.errors import ConversionError, one_line
from surplus.engine.native import open_session
from surplus.engine.values import from_value, to_value


@dataclass(frozen=True)
class Answered:
    """Inputs, and what the module answered."""

    sample: Sample
    outputs: list[Array]


_MORE_SEEDS = 16

_MOST_OF_A_CAUSE = 2000
"""Characters: ONNX Runtime ends with the cause, behind the node and a path of its own."""

_WAYS_OUT = "--inputs F.npz checks on your own data, --seeds 0 leaves the check on random ones out"


@dataclass(frozen=True)
class ComparedAnswers:
    """What a comparison found: the largest difference, and what the user should know."""

    largest: float
    notes: tuple[str, ...] = ()


def ask(
    source: Source, specs: Sequence[InputSpec], seeds: int, own: Sequence[Sample] = ()
) -> tuple[list[Answered], list[str]]:
    """Ask the module: the user's own, ``seeds`` at the example's sizes, then others of each axis.

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
    drawn = [draw(specs, seed, sizes) for seed in range(seeds)]
    answered = [_answered(source, sample) for sample in (*own, *drawn)]
    notes: list[str] = []
    if seeds:
        for name, others in other_sizes(specs).items():
            tried = [draw(specs, seeds, {**sizes, name: size}) for size in others]
            answered += _accepted(source, name, tried, notes)
    return answered, notes


def ask_more(source: Source, specs: Sequence[InputSpec], seeds: int) -> list[Answered]:
    """What the module answers to more random inputs than the first ``seeds``.

    Of a decision that tracing froze, three may happen to decide alike.
    """
    sizes = example_sizes(specs)
    drawn = (draw(specs, seed, sizes) for seed in range(seeds + 1, seeds + 1 + _MORE_SEEDS))
    return [_answered(source, sample) for sample in drawn] if seeds else []


def require_same(
    file: Path,
    source: Source,
    names: Sequence[str],
    answered: Sequence[Answered],
    tolerance: Tolerance,
) -> ComparedAnswers:
    """Run an ONNX file in ONNX Runtime on the same inputs.

    Raises
    ------
    ConversionError
        Naming the output that differs, by how much, where, and on which inputs.
    """
    try:
        session = open_session(str(file))
    except RuntimeError as error:
        raise ConversionError(
            f"ONNX Runtime refuses the exported model: {one_line(error, _MOST_OF_A_CAUSE)}"
        ) from error
    largest, tied = 0.0, []
    for one in answered:
        values: dict[str, Value | None] = {
            name: to_value(array) for name, array in one.sample.inputs.items()
        }
        try:
            outputs = [from_value(value) for value in session.run(values)]
            largest = max(largest, require_agreement(names, one.outputs, outputs, tolerance))
        except RuntimeError as error:
            raise ConversionError(
                f"the ONNX model fails on {one.sample.label}: {one_line(error, _MOST_OF_A_CAUSE)}"
            ) from error
        except ConversionError as error:
            if agree_but_for_ties(one.outputs, outputs, tolerance):
                tied.append(one.sample.label)
                continue
            _require_repeatable(source, names, one, tolerance)
            _require_stable(source, names, one, tolerance)
            raise ConversionError(
                f"the ONNX model is wrong: {error} ({one.sample.label})"
            ) from error
    order = "rows whose scores tie come in another order than torch's on"
    return ComparedAnswers(largest, (f"{order} {'; '.join(tied)}",) if tied else ())


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
            f" ({_WAYS_OUT})"
        ) from error


def _require_stable(
    source: Source, names: Sequence[str], one: Answered, tolerance: Tolerance
) -> None:
    """Where the last bit of an input decides, as it does where scores tie, nothing can be said."""
    moved = {name: _moved(array) for name, array in one.sample.inputs.items()}
    try:
        require_agreement(names, one.outputs, source.answer(moved), tolerance)
    except (ConversionError, ForwardError) as error:
        raise ConversionError(
            f"cannot be checked on {one.sample.label}: where only the last bits of the inputs"
            f" change torch's own answer does, as where scores tie ({_WAYS_OUT})"
        ) from error


def _moved(array: Array) -> Array:
    """Each float to a neighbour, up and down in turns."""
    if array.dtype.kind != "f":
        return array
    towards = np.where(np.arange(array.size) % 2, np.inf, -np.inf).astype(array.dtype)
    moved: Array = np.nextafter(array, towards.reshape(array.shape))
    return moved
