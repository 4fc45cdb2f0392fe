"""Names for what ``forward`` returns; plain integers stand for tensors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest

from surplus.engine.convert.output_tree import distinct, flatten
from surplus.engine.errors import ConversionError

Pair = namedtuple("Pair", ["boxes", "scores"])


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (1, [("output", 1)]),
        ((1, 2), [("output_0", 1), ("output_1", 2)]),
        ([1], [("output_0", 1)]),
        ({"b": 1, "a": 2}, [("b", 1), ("a", 2)]),
        (Pair(1, 2), [("boxes", 1), ("scores", 2)]),
        ({"x": (1, None, {"y z": 2})}, [("x_0", 1), ("x_2_y_z", 2)]),
    ],
)
def test_names(returned: Any, expected: list[tuple[str, int]]) -> None:
    assert flatten(returned, int) == expected


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "returns no tensor"),
        ([], "returns no tensor"),
        ("text", "something of type str;"),
        ({"a": (1, 2.5)}, "something of type float at a.1;"),
    ],
)
def test_what_has_no_form(returned: Any, message: str) -> None:
    with pytest.raises(ConversionError) as raised:
        flatten(returned, int)
    assert message in str(raised.value)


def test_distinct() -> None:
    assert distinct(["x", "y", "y", "y_out"], ["x"]) == ["x_out", "y", "y_out", "y_out_out"]
