"""What ``engine study`` compares, on which problems: made-up families, or files of a folder."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from surplus.engine.errors import ConfigError
from surplus.placement import Problem, policy_names
from surplus.placement.families import FAMILIES, family_problem
from surplus.placement.study import StudyProblem


def asked_problems(args: argparse.Namespace) -> list[StudyProblem]:
    """All of them.

    Raises
    ------
    ConfigError
        If a family is unknown, a size none, a file no problem.
    """
    return list(_stored(args.problems) if args.problems else _made_up(args))


def known_policies(text: str) -> list[str]:
    """Names between commas, or ``all``.

    Raises
    ------
    ConfigError
        If one is unknown, or there is none.
    """
    names = policy_names() if text == "all" else [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in policy_names()]:
        known = ", ".join(policy_names())
        raise ConfigError(f"--policies: unknown policy {unknown[0]!r}; there are: {known}")
    if not names:
        raise ConfigError("--policies: at least one is needed")
    return names


def _made_up(args: argparse.Namespace) -> Iterator[StudyProblem]:
    families = [name for name in args.families.split(",") if name] or list(FAMILIES)
    if unknown := [name for name in families if name not in FAMILIES]:
        known = ", ".join(FAMILIES)
        raise ConfigError(f"--families: unknown family {unknown[0]!r}; there are: {known}")
    if args.seeds < 1:
        raise ConfigError(f"--seeds must be >= 1, got {args.seeds}")
    for family in families:
        for tasks in _sizes(args.tasks):
            for seed in range(args.seeds):
                name = f"{family}-{tasks}-{seed}"
                yield StudyProblem(name, family, family_problem(family, tasks, seed))


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(word) for word in text.split(",") if word]
    except ValueError as error:
        raise ConfigError(f"--tasks must be whole numbers between commas, got {text!r}") from error
    if not sizes:
        raise ConfigError("--tasks: at least one size is needed")
    return sizes


def _stored(folder: Path) -> Iterator[StudyProblem]:
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ConfigError(f"{folder}: there is no problem (*.json)")
    for path in paths:
        try:
            problem = Problem.from_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from error
        yield StudyProblem(path.stem, folder.name, problem)
