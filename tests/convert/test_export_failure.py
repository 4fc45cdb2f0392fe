"""Why torch refused, read from errors as torch words them."""

from __future__ import annotations

import pytest

from surplus.engine.convert.export_failure import failure_of
from surplus.engine.convert.source import DecidesError, FinalError

_ADVICE = "\x1b[96mstep 1/3\x1b[0m\n## Exception summary\n"
_GUARD = """Could not guard on data-dependent expression Eq(u0, 1).
The following call raised this error:
  File "/home/me/nets.py", line 22, in forward
    if x.sum() > 0:
"""


def _wrapped(cause: Exception) -> Exception:
    error = RuntimeError(_ADVICE + str(cause))
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "No ONNX function found for <OpOverload(op='aten._eigh', overload='default')>. Fail",
            "operator aten::_eigh has no ONNX form",
        ),
        (
            "Exporting the operator 'aten::eigh' to ONNX opset version 20 is not supported",
            "operator aten::eigh has no ONNX form",
        ),
        (
            "ONNX export failed on an operator with unrecognized namespace mine::op. If you are",
            "operator mine::op has no ONNX form",
        ),
        (
            "tracing inferred a static shape of 2 for dimension inputs['x'].shape[0].",
            "forward fixes a dynamic axis of 'x' to 2",
        ),
        ("something\nelse", "ValueError: something else"),
    ],
)
def test_reasons(text: str, message: str) -> None:
    failure = failure_of(_wrapped(ValueError(text)))
    assert str(failure) == message
    assert not isinstance(failure, DecidesError | FinalError)


def test_decisions_by_the_data_are_told_apart() -> None:
    failure = failure_of(_wrapped(ValueError(_GUARD)))
    assert isinstance(failure, DecidesError)
    assert "by the data at nets.py:22 (if x.sum() > 0:)" in str(failure)
