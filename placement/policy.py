"""The extension point of placement: a policy is one file, registered by its paper's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from placement.placement import Placement
from placement.problem import Problem


class Policy(Protocol):
    """Maps a problem to a placement; a pure function of its parameters and the problem."""

    def place(self, problem: Problem) -> Placement:
        """Choose a device and a start rank for every task."""
        ...


P = TypeVar("P", bound=Callable[..., Policy])
_REGISTRY: dict[str, Callable[..., Policy]] = {}


def register(name: str) -> Callable[[P], P]:
    """Class decorator that makes a policy available under ``name``."""

    def add(factory: P) -> P:
        if name in _REGISTRY:
            raise ValueError(f"policy {name!r} is registered twice")
        _REGISTRY[name] = factory
        return factory

    return add


def policy_names() -> list[str]:
    """Names of all policies, in order of registration."""
    return list(_REGISTRY)


def make_policy(name: str, **options: Any) -> Policy:
    """Build a policy.

    Raises
    ------
    ValueError
        If the name or an option is unknown, or an option is out of range.
    """
    if name not in _REGISTRY:
        raise ValueError(f"unknown policy {name!r}; there are: {', '.join(_REGISTRY)}")
    try:
        return _REGISTRY[name](**options)
    except TypeError as error:
        raise ValueError(f"policy {name!r}: {error}") from error
