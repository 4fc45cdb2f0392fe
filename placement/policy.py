"""The extension point of placement: a policy is one file, registered by its paper's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Protocol, TypeVar

from surplus.placement.fitting import Fitting
from surplus.placement.placement import Placement
from surplus.placement.problem import Problem


class Policy(Protocol):
    """Maps a problem to a placement; a pure function of its parameters and the problem."""

    def place(self, problem: Problem) -> Placement:
        """Choose a device and a start rank for every task.

        Raises
        ------
        InfeasibleError
            If no placement was found that the memories hold.
        """
        ...


P = TypeVar("P", bound=Callable[..., Policy])


@dataclass(frozen=True)
class _Entry:
    factory: Callable[..., Policy]
    params: type[Any] | None
    keeps_devices: bool


_REGISTRY: dict[str, _Entry] = {}


def register(
    name: str, params: type[Any] | None = None, *, keeps_devices: bool = False
) -> Callable[[P], P]:
    """Class decorator that makes a policy available under ``name``.

    Parameters
    ----------
    name : str
        The paper's name for it.
    params : type, optional
        The policy's Params dataclass: ``make_policy`` builds it from its options and hands it to
        the class as the only argument. Without one the class gets the options themselves.
    keeps_devices : bool
        As the function of that name says.
    """

    def add(factory: P) -> P:
        if name in _REGISTRY:
            raise ValueError(f"policy {name!r} is registered twice")
        _REGISTRY[name] = _Entry(factory, params, keeps_devices)
        return factory

    return add


def policy_names() -> list[str]:
    """Names of all policies, in the paper's order; what else is registered comes last."""
    return list(_registered())


def policy_options(name: str) -> tuple[str, ...]:
    """Names of the options that ``make_policy(name, ...)`` takes.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    params = _entry(name).params
    return () if params is None else tuple(field.name for field in fields(params))


def keeps_devices(name: str) -> bool:
    """Whether who asks for the policy names devices with it, and wants no faster ones instead.

    Raises
    ------
    ValueError
        If the name is unknown.
    """
    return _entry(name).keeps_devices


def make_policy(name: str, **options: Any) -> Policy:
    """Build a policy, whose placements all limited memories hold (``fitting``).

    Raises
    ------
    ValueError
        If the name or an option is unknown, or an option is out of range.
    """
    entry = _entry(name)
    try:
        if entry.params is None:
            return Fitting(entry.factory(**options))
        return Fitting(entry.factory(entry.params(**options)))
    except (TypeError, ValueError) as error:
        raise ValueError(f"policy {name!r}: {error}") from error


def _entry(name: str) -> _Entry:
    known = _registered()
    if name not in known:
        raise ValueError(f"unknown policy {name!r}; there are: {', '.join(known)}")
    return known[name]


def _registered() -> dict[str, _Entry]:
    """The registry, once all policies are in it: they import this module. Others come last."""
    order: tuple[str, ...] = import_module("surplus.placement.policies").ORDER
    rank = {name: place for place, name in enumerate(order)}
    found = sorted(_REGISTRY.items(), key=lambda row: rank.get(_home(row[1]), len(rank)))
    return dict(found)


def _home(entry: _Entry) -> str:
    """Name of the module that the policy comes from."""
    return str(getattr(entry.factory, "__module__", ""))
