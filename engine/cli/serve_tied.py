"""``engine serve`` that ends, with its queries answered, when who started it is gone.

Started as ``python -m surplus.engine.cli.serve_tied OPTION...``: standard input is the
other end of who started it, and closes however that one ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from surplus.engine.cli.main import main


def _wait() -> None:
    while os.read(0, 1 << 12):  # not by sys.stdin, whose lock the interpreter's end waits for
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_wait, daemon=True).start()
    sys.exit(main(["serve", *sys.argv[1:]]))
