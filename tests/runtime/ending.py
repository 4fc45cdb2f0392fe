"""Ends the process as usual while daemon threads ask a model, or measure a session."""

import atexit
import itertools
import sys
import threading
from pathlib import Path

import numpy as np

import surplus
from surplus.engine.devices import machines
from surplus.engine.native import open_session
from surplus.engine.values import to_value

path, cache, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
image = {"image": np.zeros((1, 1, 28, 28), np.float32)}
model = surplus.load(path, "cpu:2", cache=cache, selection_s=0)
asked = threading.Semaphore(0)


def ask_last() -> None:
    """Run the model when its machine has been closed."""
    try:
        model.run(image)
    except surplus.EngineError as error:
        print(error)


def measure() -> None:
    asked.release()
    session = open_session(str(path))
    session.time({"image": to_value(image["image"])}, repeats=10**9, budget_ns=60 * 10**9)


def ask(number: int) -> None:
    asks = (
        lambda: model.run(image),
        lambda: model.submit(image).result(),
        lambda: model.run(image, timeout_s=5),
    )
    for again in itertools.cycle(asks[number:] + asks[:number]):
        asked.release()
        again()  # a query in flight is cancelled, and its thread ends quietly


atexit.unregister(machines._end)
atexit.register(ask_last)
atexit.register(machines._end)  # before it
if how == "measured":
    machines._LAST_CALLS_S = 0.05
    threading.Thread(target=measure, daemon=True).start()
    asked.acquire()
else:
    for number in (0, 0, 1, 2):
        threading.Thread(target=ask, args=(number,), daemon=True).start()
    for _ in range(100):
        asked.acquire()
print("end")
