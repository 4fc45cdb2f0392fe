"""A model that computes for as long as its input says."""

from __future__ import annotations

from typing import Any

import numpy as np

COUNT_TEXT = """
count (int64 n, int64[1] x) => (int64[1] y) {
    go = Constant<value = bool {1}>()
    y = Loop(n, go, x)<body = step (int64 i, bool before, int64[1] old)
        => (bool after, int64[1] new) {
        after = Identity(before)
        one = Constant<value = int64[1] {1}>()
        new = Add(old, one)
    }>
}
"""
"""``x + n`` in ``n`` trips; 252 bytes as a file are enough for 2^60 of them."""

COUNT = '<ir_version: 9, opset_import: ["" : 18]>' + COUNT_TEXT

ENDLESS = 2**60


def counted(trips: int) -> dict[str, Any]:
    """A query of so many trips from 0."""
    return {"n": np.array(trips), "x": np.zeros(1, np.int64)}
