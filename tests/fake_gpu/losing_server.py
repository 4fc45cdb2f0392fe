"""``engine serve`` in a process that sees a GPU: what fails on it is read from standard input.

A line is a function of CUDA, which call of it is to fail, and the code: ``execute 3 700``.
"""

from __future__ import annotations

import sys
import threading

from surplus.engine.cli.main import main
from tests.fakes.cuda_library import FakeCuda


def inject(fake: FakeCuda) -> None:
    for line in sys.stdin:
        function, nth, code = line.split()
        fake.inject(function, int(nth), int(code))
        print("injected", flush=True)


fake = FakeCuda()
threading.Thread(target=inject, args=(fake,), daemon=True).start()
status = main(["serve", *sys.argv[1:]])
print(f"violations: {fake.violations()}", flush=True)
sys.exit(status)
