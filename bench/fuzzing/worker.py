"""``python -m bench.fuzzing.worker FIRST COUNT``: JSON lines, one before each step of each model.

A process of its own: what ends it is an outcome of the model that it was at.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from bench.fuzzing.generator import grow
from bench.fuzzing.trial import try_out


def main(first: int, count: int) -> None:
    """Try the models of ``count`` seeds from ``first`` on."""
    logging.disable(logging.CRITICAL)
    for seed in range(first, first + count):
        _tell({"seed": seed, "step": "grow"})
        grown = grow(seed)
        outcome = try_out(grown, lambda step, s=seed: _tell({"seed": s, "step": step}))
        _tell({"outcome": outcome.to_dict()})


def _tell(row: dict[str, Any]) -> None:
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
