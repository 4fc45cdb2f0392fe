"""Workers that try seeds out; one that ends, or hangs, is an outcome and gives way to the next."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.fuzzing.trial import Outcome

WORKER: tuple[str, ...] = (sys.executable, "-W", "ignore", "-m", "bench.fuzzing.worker")

_SILENT_S = 120
"""No step of a small model takes so long, on a busy machine either."""


@dataclass(frozen=True)
class Shift:
    """Consecutive seeds for one process."""

    first: int
    count: int


def outcomes(
    first: int, count: int, workers: int, is_over: Callable[[], bool], shift: int = 200
) -> Iterator[Outcome]:
    """Outcomes of the seeds from ``first`` on, as they come; fewer where time is over before."""
    shifts: queue.Queue[Shift] = queue.Queue()
    for start in range(first, first + count, shift):
        shifts.put(Shift(start, min(shift, first + count - start)))
    found: queue.Queue[Outcome | None] = queue.Queue()
    threads = [
        threading.Thread(target=_work, args=(shifts, found, is_over), daemon=True)
        for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    left = workers
    while left:
        outcome = found.get()
        if outcome is None:
            left -= 1
        else:
            yield outcome


def _work(
    shifts: queue.Queue[Shift], found: queue.Queue[Outcome | None], is_over: Callable[[], bool]
) -> None:
    try:
        while not is_over():
            shift = shifts.get_nowait()
            while shift.count and not is_over():
                done = 0
                for outcome in _worked(shift, is_over):
                    found.put(outcome)
                    done += 1
                shift = Shift(shift.first + done, shift.count - done)
    except queue.Empty:
        pass
    finally:
        found.put(None)


def _worked(shift: Shift, is_over: Callable[[], bool]) -> Iterator[Outcome]:
    """What one process tells, and at last how it ended unless well."""
    process = subprocess.Popen(
        [*WORKER, str(shift.first), str(shift.count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    lines: queue.Queue[str] = queue.Queue()
    pump = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
    pump.start()
    seed, step, hung = shift.first, "start", False
    try:
        while line := _next(lines):
            row = json.loads(line)
            if "outcome" in row:
                yield Outcome(**row["outcome"])
                if is_over():
                    return
            else:
                seed, step = row["seed"], row["step"]
        hung = line is None
        if not hung:
            process.wait(_SILENT_S)  # it has nothing more to say
    finally:
        process.kill()
        code = process.wait()
        pump.join()
        process.stdout.close()
    if hung or code:
        yield _ended(seed, step, "hangs" if hung else _cause(code))


def _pump(stream: Sequence[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


def _next(lines: queue.Queue[str]) -> str | None:
    """The next line; empty at the end, None where none comes."""
    try:
        return lines.get(timeout=_SILENT_S)
    except queue.Empty:
        return None


def _cause(code: int) -> str:
    return f"ends the process ({signal.Signals(-code).name})" if code < 0 else f"exits with {code}"


def _ended(seed: int, step: str, what: str) -> Outcome:
    """Of ONNX Runtime's own doing where it was alone; else a crash of ours."""
    kind = "unusable" if step in ("grow", "plain") else "crashed"
    return Outcome(seed, kind, step, what, "")
