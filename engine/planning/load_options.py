"""Keywords of ``surplus.load``, as type checkers know them, and their old names.

They are the fields of ``LoadParams``, which says what each means.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.engine.devices.emulation_params import EmulationParams
    from surplus.engine.runtime.queueing import Queueing


class LoadOptions(TypedDict, total=False):
    """What ``surplus.load`` takes by keyword; ``surplus.LoadParams`` says what each means."""

    policy_options: Mapping[str, Any]
    cache: str | os.PathLike[str] | None
    reuse: bool
    finalists: int
    selection_s: float
    planning_s: float
    tune_s: float
    slice_s: float
    tune: Literal["background", "now", "again", "off"]
    relaxed_numerics: bool
    gpu_memory: str
    on_device_loss: Literal["fail", "recreate", "cpu"]
    max_load_s: float
    max_query_s: float
    deadline_s: float | None
    priority: int
    best_effort: bool
    on_late: Literal["reject", "serve"] | None
    max_wait_s: float
    weight: float
    max_batch: int | None
    batch_limit: int | None
    queueing: Queueing | None
    kernels: str
    precision: str
    kernel_memory: str
    custom_operators: Sequence[str]
    emulation: EmulationParams | None
    first_width: int
    crash_probe: bool


OPTIONS = (
    "devices",
    "placement_policy",
    "placement",
    "profile",
    "inputs",
    "progress",
    *LoadOptions.__annotations__,
)
"""All that ``load`` takes beside the path."""

_POLICY = "auto"

_ALIKE = 0.8
"""As alike as ``device`` and ``devices``, of difflib's 0 to 1."""


def _same(value: Any) -> Any:
    return value


def _per(count: float) -> Callable[[Any], Any]:
    return lambda value: value / count if isinstance(value, int | float) else value


def _inverse(value: Any) -> Any:
    return not value if isinstance(value, bool) else value


_RENAMED: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "policy": ("placement_policy", _same),
    "selection_ns": ("selection_s", _per(1e9)),
    "slice_ms": ("slice_s", _per(1e3)),
    "max_query_ms": ("max_query_s", _per(1e3)),
    "deadline_ms": ("deadline_s", _per(1e3)),
    "max_wait_ms": ("max_wait_s", _per(1e3)),
    "late": ("on_late", lambda value: "reject" if value == "refuse" else value),
    "same_bits": ("relaxed_numerics", _inverse),
}
"""Options by their names until November 2027: what they are called now, and their value."""


OLD_NAMES = tuple(_RENAMED)
"""Those that options had before."""


def named_now(options: Mapping[str, Any], policy: str = _POLICY) -> dict[str, Any]:
    """Options by the names that they have now, ``placement_policy`` among them.

    Warns of each old name. Options of a policy by keyword are an old way, too. Whoever is warned is
    the caller of the caller.

    Parameters
    ----------
    policy : str
        The placement policy, where ``options`` does not name it by its old name.

    Raises
    ------
    ConfigError
        If one is no option, or is said by both of its names.
    """
    found: dict[str, Any] = {"placement_policy": policy}
    found |= {name: value for name, value in options.items() if name not in _RENAMED}
    for old, (new, convert) in _RENAMED.items():
        if old not in options:
            continue
        if new in options:
            raise ConfigError(f"{old} is called {new}, and both are given")
        _warn(f"{old} is called {new}")
        found[new] = convert(options[old])
    others = {name: found.pop(name) for name in tuple(found) if name not in OPTIONS}
    if others:
        check_known(others, found["placement_policy"])
        _warn(f"options of a policy go by policy_options={others!r}")
        found["policy_options"] = {**found.get("policy_options", {}), **others}
    return found


def check_known(names: Iterable[str], policy: str) -> None:
    """Refuse what is neither an option of ``load`` nor of the policy.

    Raises
    ------
    ConfigError
        Naming it, and the option that may be meant.
    """
    from difflib import get_close_matches

    from surplus.placement.policy import policy_names, policy_options  # all of placement

    known = policy_options(policy) if policy in policy_names() else ()
    for name in names:
        if name in known:
            continue
        close = get_close_matches(name, OPTIONS, 1, _ALIKE)
        hint = f"did you mean {close[0]!r}?" if close else "surplus.LoadParams lists what it has"
        raise ConfigError(f"load has no option {name!r}; {hint}")


def _warn(text: str) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=4)
