"""When a library's answer counts as ONNX Runtime's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from surplus.engine.kernels.conformance.aspect import Aspect
from surplus.engine.kernels.conformance.comparing import agreement

NAN, INF = np.nan, np.inf


def _agreed(found: Any, right: Any, rounding: str, kind: str = "float32") -> tuple[bool, bool]:
    held = agreement([np.array(found, kind)], [np.array(right, kind)], rounding)
    return held[Aspect.FINITE], held[Aspect.MADE]


@pytest.mark.parametrize(
    ("found", "right", "rounding", "held"),
    [
        ([1.0, 2.0], [1.0, 2.0], "exact", (True, True)),
        ([1.0, 2.0001], [1.0, 2.0], "exact", (False, True)),
        ([1.00001, 1e9], [1.0, 1e9], "element", (True, True)),
        ([1.001, 1e9], [1.0, 1e9], "element", (False, True)),
        ([1.001, 1e9], [1.0, 1e9], "row", (True, True)),
        ([0.0, 1.0], [NAN, 1.0], "element", (True, False)),
        ([NAN, 1.0], [0.0, 1.0], "element", (False, True)),
        ([INF, 1.0], [-INF, 1.0], "element", (True, False)),
        ([-INF, NAN], [-INF, NAN], "element", (True, True)),
        ([0.0], [1e-40], "element", (True, True)),
    ],
)
def test_finite_numbers_and_others_are_judged_apart(
    found: list[float], right: list[float], rounding: str, held: tuple[bool, bool]
) -> None:
    assert _agreed(found, right, rounding) == held


def test_whole_numbers_are_equal_or_a_step_apart_where_that_is_allowed() -> None:
    assert _agreed([16777217], [16777216], "row", "int64") == (False, True)
    assert _agreed([3], [4], "step", "uint8") == (True, True)
    assert _agreed([0], [255], "step", "uint8") == (False, True)


def test_another_shape_or_type_is_another_answer() -> None:
    one, two = np.zeros(2, np.float32), np.zeros((2, 1), np.float32)
    assert not any(agreement([one], [two], "row").values())
    assert not any(agreement([one], [one.astype(np.float16)], "row").values())
