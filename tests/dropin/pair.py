"""Our session and ONNX Runtime's of one model, asked the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import pytest

import surplus

TYPED = """<ir_version: 9, opset_import: ["" : 18]>
typed (float[n, 3] x, int64[2, m, ?] i, bool[] flag, string[1] text, float16[k] half,
       seq(float[2]) many, double[n] scale)
=> (float[n, 3] y, int64[2, m, q] j, string[1] said, float16[k] same, float[2] first, bool[] f)
<double[1] scale = {1.0}>
{
    y = Relu(x)
    j = Neg(i)
    f = Not(flag)
    said = Identity(text)
    same = Abs(half)
    zero = Constant<value_int = 0>()
    first = SequenceAt(many, zero)
    unused = Abs(scale)
}"""

FEEDS: dict[str, Any] = {
    "x": np.array([[1, -1, 2]], np.float32),
    "i": np.arange(8).reshape(2, 2, 2),
    "flag": np.array(True),
    "text": np.array(["word"], object),
    "half": np.array([-1, 2], np.float16),
    "many": [np.array([3, 4], np.float32)],
}

PLAIN = """<ir_version: 9, opset_import: ["" : 18]>
plain (float[n, 3] x, int64[2] i) => (float[n, 3] y, int64[2] j) {
    y = Relu(x)
    j = Neg(i)
}"""
"""Of tensors of numbers alone."""


@dataclass(frozen=True)
class Pair:
    ours: surplus.InferenceSession
    theirs: onnxruntime.InferenceSession

    def same_answers(self, ask: Callable[[Any], Any]) -> None:
        """What both say is equal, types of arrays included."""
        ours, theirs = ask(self.ours), ask(self.theirs)
        assert plain(ours) == plain(theirs)

    def same_error(self, ask: Callable[[Any], Any], *, text: bool = True) -> None:
        """Both refuse by the same class, in the same words if ``text``."""
        theirs = caught(ask, self.theirs)
        ours = caught(ask, self.ours)
        assert isinstance(ours, type(theirs)), f"{type(ours)}: {ours}"
        if text:
            assert str(ours) == str(theirs)


def caught(ask: Callable[[Any], Any], of: Any) -> Exception:
    with pytest.raises(Exception) as info:  # noqa: PT011  # which one it is, is the question
        ask(of)
    return info.value


def plain(answer: Any) -> Any:
    """Compared by ``==``."""
    if isinstance(answer, np.ndarray):
        return str(answer.dtype), answer.shape, answer.tolist()
    if isinstance(answer, list | tuple):
        return [plain(item) for item in answer]
    return answer
