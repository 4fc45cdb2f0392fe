"""The rows of a program that minimises one load, and what any prices of them prove.

Let the program be to minimise an integer D over v[j] in {0, 1}, with rows

    least[r]  <=  sum_j a[r][j] v[j] + b[r] D  <=  most[r]

A price y[r] > 0 multiplies the least side of its row, one < 0 the most side: y[r] times the sum is
at least y[r] times that side. Summed over all rows, with S = sum_r y[r] b[r] and
w[j] = sum_r y[r] a[r][j], and since no v[j] is below 0 or above 1:

    S D  >=  sum_r y[r] side[r] - sum_j max(0, w[j])

So where S > 0 the right side over S, rounded up, is at most the optimum, whoever chose the prices
and however wrong they are. With the duals of the linear relaxation it is the relaxation's optimum.
All in integers, as floats would lose nanoseconds in the products.

References
----------
Neumaier, Shcherbina: Safe bounds in linear and mixed-integer linear programming, Mathematical
Programming 99, 2004. Departure: integers instead of directed rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_SCALE = 1 << 40
"""Prices are rounded to this part of one: of loads of seconds that loses less than a nanosecond."""

_ENDLESS = 1 << 62
"""Sides from here on are none to CP-SAT."""


@dataclass(frozen=True)
class LinearRow:
    """A linear constraint.

    Parameters
    ----------
    terms : tuple of (int, int)
        Columns, each once, and their coefficients.
    least, most : int or None
        What the sum is not below and not above; None where there is no such side.
    """

    terms: tuple[tuple[int, int], ...]
    least: int | None = None
    most: int | None = None


def rows_of(program: cp_model.CpModel) -> list[LinearRow]:
    """What of a program is linear, in its order; all else is left out, as a relaxation may.

    Columns are the program's variables by index.
    """
    return [row for constraint in program.proto.constraints for row in _rows(constraint)]


def proven_bound(rows: Sequence[LinearRow], prices: Sequence[float], load: int) -> int:
    """What the least load is not below, by the prices of rows; 0 if they prove nothing.

    Parameters
    ----------
    prices : sequence of float
        Of each row; > 0 for its least side, < 0 for its most.
    load : int
        The column that is minimised, an integer >= 0; all others are 0 or 1.
    """
    constant, work = 0, defaultdict[int, int](int)
    for row, price in zip(rows, prices, strict=True):
        side = row.least if price > 0 else row.most
        if side is None:
            continue
        whole = round(price * _SCALE)
        constant += whole * side
        for column, coefficient in row.terms:
            work[column] += whole * coefficient
    weight = work.pop(load, 0)
    if weight <= 0:
        return 0
    return max(0, -(-(constant - sum(w for w in work.values() if w > 0)) // weight))


def _rows(constraint: cp_model.ConstraintProto) -> Iterator[LinearRow]:
    given = list(constraint.enforcement_literal)
    if constraint.has_linear() and not given:
        linear = constraint.linear
        least, *_, most = linear.domain
        terms = defaultdict[int, int](int)
        for column, coefficient in zip(linear.vars, linear.coeffs, strict=True):
            terms[column] += coefficient
        yield LinearRow(tuple(terms.items()), _finite(least), _finite(most))
    elif constraint.has_exactly_one() and not given:
        yield LinearRow(tuple((literal, 1) for literal in constraint.exactly_one.literals), 1, 1)
    elif constraint.has_bool_and() and len(given) == 1:
        for literal in constraint.bool_and.literals:
            yield LinearRow(((literal, 1), (given[0], -1)), least=0)


def _finite(side: int) -> int | None:
    return None if abs(side) >= _ENDLESS else side
