"""What the parameters of a query's tensors say: where they lie, and how outputs are wanted.

Parameters are plain values by name, whichever face they came through. What Triton has words for
is refused in these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surplus.engine.errors import InputError
from surplus.engine.serving.shared_memory import RegionPart

REGION = "shared_memory_region"
OFFSET = "shared_memory_offset"
SIZE = "shared_memory_byte_size"
CLASSES = "classification"

_LARGEST = 2**63 - 1

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Delivery:
    """How an output is wanted: as it is, unless one of the two says otherwise.

    Parameters
    ----------
    part : RegionPart or None
        Where to put it.
    classes : int
        How many of its largest values to answer, with their places, instead of it; 0: none.
    """

    part: RegionPart | None = None
    classes: int = 0


AS_IT_IS = Delivery()


def delivery_of(output: str, values: Values) -> Delivery:
    """What the parameters of a requested output ask for.

    Raises
    ------
    InputError
        If they are of a wrong type, incomplete, or contradict each other.
    """
    if not values:
        return AS_IT_IS
    part = part_of("output", output, values)
    classes = number_of("output", output, values, CLASSES)
    if part is not None and CLASSES in values:
        raise InputError(f"output {output!r} can't set both {REGION!r} and {CLASSES!r}")
    return Delivery(part, classes)


def part_of(kind: str, tensor: str, values: Values) -> RegionPart | None:
    """The shared memory that the parameters of a tensor name; None if they name none.

    Parameters
    ----------
    kind : str
        "input" or "output".

    Raises
    ------
    InputError
        If they are of a wrong type or incomplete.
    """
    region = values.get(REGION)
    if region is None:
        for name in (SIZE, OFFSET):
            if name in values:
                raise InputError(
                    f"{name!r} can not be specified without {REGION!r} parameter "
                    f"for {kind} {tensor!r}"
                )
        return None
    if type(region) is not str:
        raise InputError(f"{kind} {tensor!r}: {REGION!r} must be a string")
    if SIZE not in values:
        raise InputError(
            f"{SIZE!r} must be specified along with {REGION!r} parameter for {kind} {tensor!r}"
        )
    offset = number_of(kind, tensor, values, OFFSET)
    return RegionPart(region, offset, number_of(kind, tensor, values, SIZE))


def number_of(kind: str, tensor: str, values: Values, name: str) -> int:
    """A non-negative integer parameter; 0 if it is not there. Raises InputError for another."""
    value = values.get(name, 0)
    if type(value) is not int:
        raise InputError(f"{kind} {tensor!r}: {name!r} must be an integer")
    if not 0 <= value <= _LARGEST:
        raise InputError(f"{kind} {tensor!r}: {name!r}: expected 0 to {_LARGEST}, got {value}")
    return value
