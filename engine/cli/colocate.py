"""``engine colocate ACTION``: what co-location policies know, made from measurements.

Each action is a file of its own, as a verb is.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from surplus.engine.cli import (
    colocate_compile,
    colocate_profile,
    colocate_sample,
    colocate_train,
)
from surplus.engine.cli.parser import add_verb

ACTIONS: tuple[ModuleType, ...] = (
    colocate_train,
    colocate_profile,
    colocate_sample,
    colocate_compile,
)

_SUMMARY = "make what policies of co-location know, from measurements"
_EXAMPLE = """
engine colocate train --data abacus_a100_pairs -o mlp.npz
engine colocate profile bench/configs/colocation/live/two_cpu.toml
"""


def add_parser(verbs: Any) -> None:
    """Register the verb and its actions; each of them says what is run."""
    parser = add_verb(verbs, "colocate", _SUMMARY, _EXAMPLE, colocate_train.run)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for module in ACTIONS:
        module.add_parser(actions)
