"""What a fuzzer says at its end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any


def reported(seed: int, outcomes: Mapping[str, int], bad: Sequence[Any]) -> int:
    """Print one line of JSON for each case that is wrong, a dataclass, then the outcomes.

    Returns the status to end with.
    """
    for case in bad:
        print(json.dumps(asdict(case)))
    print(json.dumps({"seed": seed, **outcomes}))
    return 1 if bad else 0
