"""Dynamic axes of size 1 in the example: torch takes them for fixed ones."""

from __future__ import annotations

from collections.abc import Sequence

from surplus.engine.convert.input_spec import EXAMPLE_SIZE, Axis, InputSpec

_FIXED_AT = 1


def way_out(specs: Sequence[InputSpec]) -> str:
    """A sentence with inputs that are exported better; empty where no dynamic axis is of size 1.

    Of several such axes the last stays dynamic: where one of them never changes, it is the batch.
    """
    names = list(dict.fromkeys(name for spec in specs for name in _of_size_one(spec)))
    if not names:
        return ""
    axes = " and ".join(f"{name}={_FIXED_AT}" for name in names)
    better = " ".join(f"--input {_text(spec, names[-1])}" for spec in specs if _of_size_one(spec))
    return (
        f"torch takes an axis of size {_FIXED_AT} in the example for a fixed one ({axes}): give"
        f" {EXAMPLE_SIZE} or more to what changes and the number alone to what does not, as in"
        f" {better}"
    )


def _of_size_one(spec: InputSpec) -> list[str]:
    return [axis.name for axis in spec.axes if axis.name and axis.size == _FIXED_AT]


def _text(spec: InputSpec, dynamic: str) -> str:
    return f"{spec.name}:{'x'.join(_axis(axis, dynamic) for axis in spec.axes)}:{spec.dtype}"


def _axis(axis: Axis, dynamic: str) -> str:
    if axis.name is None or (axis.size == _FIXED_AT and axis.name != dynamic):
        return str(axis.size)
    return f"{axis.name}={EXAMPLE_SIZE if axis.size == _FIXED_AT else axis.size}"
