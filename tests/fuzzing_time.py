"""How long a fuzzer runs: so many rounds with a fixed seed, or as long as ``make fuzz`` says.

``SURPLUS_FUZZ_S`` is the seconds of each fuzzer, ``SURPLUS_FUZZ_SEED`` what its random numbers
begin with; its rounds count up from there.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator


def rounds(count: int) -> Iterator[int]:
    """Numbers of the rounds."""
    seconds = float(os.environ.get("SURPLUS_FUZZ_S", 0))
    end_s = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end_s if seconds else number < count:
        yield number
        number += 1


def generator(seed: int) -> random.Random:
    """The stream of random numbers of one fuzzer."""
    return random.Random(int(os.environ.get("SURPLUS_FUZZ_SEED", seed)))
