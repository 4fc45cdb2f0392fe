"""How far the outputs of two runs are apart."""

from __future__ import annotations

from collections.abc import Mapping

from surplus.engine.contest.relative_difference import Array, relative_difference


def relative_error(found: Mapping[str, Array], expected: Mapping[str, Array]) -> float:
    """Largest difference of an output over the largest magnitude that was expected of it.

    Returns
    -------
    float
        The worst of all outputs; infinite where names differ or an output cannot be compared.
    """
    if set(found) != set(expected):
        return float("inf")
    pairs = ((found[name], expected[name]) for name in expected)
    return max((relative_difference(*pair) for pair in pairs), default=0.0)
