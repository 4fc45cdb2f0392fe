"""What is made of a problem once, and forgotten with it.

By identity: problems are equal by value, but have none that is worth computing each time, and are
copied and pickled without what was made of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from surplus.placement.problem import Problem

T = TypeVar("T")


class PerProblem(Generic[T]):
    """Makes it when a problem is first asked about.

    Parameters
    ----------
    make : callable

    Attributes
    ----------
    made : dict of int to T
        By the identity of a problem that lives.
    """

    def __init__(self, make: Callable[[Problem], T]) -> None:
        self._make = make
        self.made: dict[int, T] = {}

    def __call__(self, problem: Problem) -> T:
        """That of a problem."""
        if id(problem) not in self.made:
            self.made.setdefault(id(problem), self._make(problem))
            weakref.finalize(problem, self.made.pop, id(problem), None)
        return self.made[id(problem)]
