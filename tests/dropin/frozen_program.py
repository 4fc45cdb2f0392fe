"""A program that is frozen: loads a model in every usual way, asks it, and lives on for a while.

``program MODEL STARTS``: it adds its number to the file STARTS, where it has not been started often
already, so that one that starts itself again and again ends.
"""

import os
import sys
import time
from pathlib import Path

_MOST_STARTS = 6
_LIVES_S = 8.0
"""Longer than what begins in the background waits for a quiet moment."""


def main() -> None:
    """Print what each way answers."""
    model, starts = sys.argv[1], Path(os.environ["STARTS"])
    with starts.open("a") as file:
        file.write(f"{os.getpid()} {sys.argv[1:]}\n")
    if len(starts.read_text().splitlines()) > _MOST_STARTS:
        sys.exit("started again and again")

    import numpy as np

    import surplus

    x = np.arange(3, dtype=np.float32)
    for loaded in (surplus.load(model), surplus.load(model, tune="now")):
        print(loaded.run({"x": x})["y"].tolist(), flush=True)
    session = surplus.InferenceSession(model)
    print(session.run(None, {"x": x})[0].tolist(), flush=True)
    time.sleep(_LIVES_S)
    print("over", flush=True)


if __name__ == "__main__":
    main()
