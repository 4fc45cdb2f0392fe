"""Outputs that the protocol cannot carry: not offered, or an error of their model alone."""

from __future__ import annotations

import pytest

from surplus.engine.dfg.graph_tensor import ValueKind
from surplus.engine.element_type import ElementType
from surplus.engine.errors import ModelError
from surplus.engine.runtime.inputs import IoSpec
from surplus.engine.serving.model_executor import offered, tensor_spec

LABEL = IoSpec("label", ElementType.STRING, ("n",), ValueKind.TENSOR)
ROWS = IoSpec("rows", 0, None, ValueKind.SEQUENCE)
SMALL = IoSpec("small", ElementType.FLOAT8E4M3FN, ("n",), ValueKind.TENSOR)


@pytest.mark.parametrize(
    ("named", "right"),
    [
        ((), [LABEL]),  # dicts are not offered
        (("label",), [LABEL]),
        (("rows",), [ROWS]),  # which is then refused
        (("other",), [LABEL]),  # which the configuration's check refuses
    ],
)
def test_tensors_are_offered_or_what_is_named(named: tuple[str, ...], right: list[IoSpec]) -> None:
    assert offered((LABEL, ROWS), set(named)) == right


def test_all_are_where_there_is_no_tensor() -> None:
    assert offered((ROWS,), set()) == [ROWS]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (ROWS, "'rows' is a sequence; the protocol serves tensors only"),
        (SMALL, "'small': the Open Inference Protocol has no datatype for float8_e4m3fn"),
    ],
)
def test_what_cannot_be_served_is_an_error_of_the_model(spec: IoSpec, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        tensor_spec(spec)
    assert said in str(caught.value)
