"""``engine serve --model-control-mode``: which models are loaded, when, and by whom."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from surplus.engine.errors import ConfigError

if TYPE_CHECKING:
    from surplus.engine.repository.layout import RepositoryEntry

_ALL = "*"
POLL_S = 15.0
"""Triton's ``--repository-poll-secs``."""


@dataclass(frozen=True)
class Control:
    """Who loads models.

    Parameters
    ----------
    mode : {"none", "poll", "explicit"}
        All at the start and no other; as files come, change and go; as clients ask.
    poll_s : float
        Seconds from one look at the files to the next.
    memory_bytes : int
        What all models may take together that are loaded; 0 loads them all.
    """

    mode: str
    poll_s: float
    memory_bytes: int = 0


def add_control(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add = parser.add_argument
    add(
        "--model-control-mode",
        choices=("none", "poll", "explicit"),
        default="none",
        help="load all models now and no other (none), as their files come, change and go (poll),"
        " or those of --load-model and what clients ask for (explicit)",
    )
    add(
        "--load-model",
        action="append",
        default=[],
        metavar="NAME",
        help="in explicit mode, load this model now; * loads all; may be repeated",
    )
    add(
        "--repository-poll-s",
        type=float,
        metavar="S",
        help=f"in poll mode, seconds from one look to the next (default {POLL_S:g})",
    )
    add(
        "--model-memory",
        default="",
        metavar="SIZE",
        help="what all loaded models may take together, for example 2GiB: each is loaded by a query"
        " that asks for it, and those asked least recently make room (default: all are loaded)",
    )


def asked_control(args: argparse.Namespace, *, under_policy: bool) -> Control:
    """What the options say.

    Raises
    ------
    ConfigError
        If they contradict each other, or another one.
    """
    mode, poll_s = args.model_control_mode, args.repository_poll_s
    if args.load_model and mode != "explicit":
        raise ConfigError(f"--load-model is for --model-control-mode explicit, not {mode}")
    if poll_s is not None and mode != "poll":
        raise ConfigError(f"--repository-poll-s is for --model-control-mode poll, not {mode}")
    if poll_s is not None and not 0 < poll_s < float("inf"):
        raise ConfigError(f"--repository-poll-s is {poll_s:g}, must be a number above 0")
    for option, is_given in (
        (f"--model-control-mode {mode}", mode != "none"),
        ("--model-memory", bool(args.model_memory)),
    ):
        if is_given:
            _require_alone(option, args, under_policy=under_policy)
    return Control(mode, POLL_S if poll_s is None else poll_s, _memory_bytes(args))


def _require_alone(option: str, args: argparse.Namespace, *, under_policy: bool) -> None:
    """Refuse what keeps models as they were at the start."""
    if under_policy:
        raise ConfigError(
            f"{option}: policy {args.policy!r} plans for the models of the start, which stay"
            " loaded; --model-control lets clients take them out and put them back"
        )
    if args.isolate is not None:
        raise ConfigError(
            f"{option} and --isolate: processes keep the models that they were started with:"
            " choose one"
        )


def _memory_bytes(args: argparse.Namespace) -> int:
    from surplus.engine.devices.memory_size import parse_bytes

    if not args.model_memory:
        return 0
    found = parse_bytes(args.model_memory)
    if args.memory_limit not in ("", "0") and found > parse_bytes(args.memory_limit):
        raise ConfigError(
            f"--model-memory {args.model_memory} is more than --memory-limit {args.memory_limit},"
            " which holds for the whole server"
        )
    return found


def loaded_now(
    args: argparse.Namespace, entries: Sequence[RepositoryEntry]
) -> Sequence[RepositoryEntry]:
    """Those of these models that are loaded at the start; with an ensemble its steps.

    Raises
    ------
    ConfigError
        Naming a model that is not there.
    """
    from surplus.engine.ensembles.step_models import all_steps

    if args.model_control_mode != "explicit" or _ALL in args.load_model:
        return entries
    names = {entry.name for entry in entries}
    for name in args.load_model:
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise ConfigError(f"--load-model {name}: there is no such model; there are: {known}")
    configs = {entry.name: entry.config for entry in entries if entry.config is not None}
    steps = [all_steps(name, configs) for name in args.load_model]
    wanted = set(args.load_model).union(*steps)
    return [entry for entry in entries if entry.name in wanted]
