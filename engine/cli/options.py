"""Options that several verbs share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from placement.policy import policy_names

_TRUE = {"true": True, "false": False}


def add_model(parser: argparse.ArgumentParser) -> None:
    """MODEL, --inputs and --cache."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="an ONNX file")
    parser.add_argument(
        "--inputs",
        type=Path,
        metavar="F.npz",
        help="example inputs by name; default: MODEL with .npz for .onnx, else random values",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="size of a dynamic dimension in random inputs (default 1); may be repeated",
    )
    add_cache(parser)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """--cache."""
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="where to keep what is built and measured"
    )


def add_devices(parser: argparse.ArgumentParser) -> None:
    """--devices."""
    cores = len(os.sched_getaffinity(0))
    parser.add_argument(
        "--devices",
        default=f"cpu:{cores}",
        metavar="D,...",
        help="for example cpu:2 or cpu:1,emulated:gpu[h200] (default: cpu:%(default)s)".replace(
            "cpu:%(default)s", "%(default)s"
        ),
    )


def add_policy(parser: argparse.ArgumentParser) -> None:
    """--policy and its --option KEY=VALUE."""
    parser.add_argument("--policy", default="comm_sd", choices=policy_names())
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the policy, for example alpha_ns=50000; may be repeated",
    )


def pairs(rows: list[str]) -> dict[str, Any]:
    """``KEY=VALUE`` strings as a mapping; numbers and true/false are converted.

    Raises
    ------
    ValueError
        Naming the string without ``=``.
    """
    found: dict[str, Any] = {}
    for row in rows:
        key, separator, text = row.partition("=")
        if not separator or not key:
            raise ValueError(f"expected KEY=VALUE, got {row!r}")
        found[key] = _value(text)
    return found


def sizes(rows: list[str]) -> dict[str, int]:
    """``NAME=SIZE`` strings as a mapping of non-negative integers."""
    found = pairs(rows)
    for name, size in found.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ValueError(f"--dim {name}: expected a size >= 0, got {size!r}")
    return found


def _value(text: str) -> Any:
    if text in _TRUE:
        return _TRUE[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
