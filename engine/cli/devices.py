"""``engine devices``: what this machine can compute on, and what a GPU would still need."""

from __future__ import annotations

import argparse
from typing import Any

from surplus.engine.cli.options import add_json
from surplus.engine.cli.output import show_json, show_rows
from surplus.engine.cli.parser import add_verb

_SUMMARY = "list the devices of this machine, and what is missing to drive its GPUs"
_EXAMPLE = "engine devices"


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    add_json(add_verb(verbs, "devices", _SUMMARY, _EXAMPLE, run))


def run(args: argparse.Namespace) -> int:
    """Print the devices, then what CUDA needs and where it is."""
    from surplus.engine.devices.inventory import inventory

    found = inventory()
    if args.json:
        show_json(found)
        return 0
    show_rows("devices", found["devices"])
    show_rows("kernels beside ONNX Runtime's", found["kernels"])
    show_rows("what a CUDA device needs", found["cuda"])
    return 0
