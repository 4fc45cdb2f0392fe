"""One way to run a mix, in a process of its own: answers as it is told to, in turns.

``python -m bench.neighbours.contender HOW MIX CACHE``; a request in JSON a line of the input, its
answer a line of the output: ``{"do": "alone"}`` says what a query of each model takes by itself,
``{"do": "turn", "load": 3, "s": 4, "seed": 1, "poisson": true}`` serves an open loop and says the
latencies of each stream, from when a query was meant to be sent, and what the background did.
From then on a query is due, too, and who has deadlines is told so.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from bench.infrastructure.process_tree import tree_cpu_s
from bench.neighbours.mixes import BACKGROUND, MIXES, Stream, arrivals_s
from bench.neighbours.triton.environment import missing
from bench.neighbours.triton.loading import in_triton

CALLERS = 3
"""Of each stream: at most so many of its queries are in flight."""

CORES = len(os.sched_getaffinity(0))
_NICE = 19
_HOUR_NS = 3_600_000_000_000
TRITON = "triton x1, nice"

Ask = Callable[[int], object]
"""Is told when the answer is due, on ``time.monotonic_ns``'s clock; 0: it is not."""


def onnxruntime_with(threads: int, *, spins: bool) -> Callable[..., Ask]:
    """A session of ONNX Runtime's Python package; 0 threads is its default."""

    def load(stream: Stream, cache: Path) -> Ask:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        if not spins:
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        path, inputs = stream.built()
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        return lambda _: session.run(None, inputs)

    return load


def openvino_with_streams(stream: Stream, cache: Path) -> Ask:
    """OpenVINO's Python package, a stream of one thread a core."""
    import openvino

    path, inputs = stream.built()
    core = openvino.Core()
    config = {
        "INFERENCE_NUM_THREADS": CORES,
        "NUM_STREAMS": CORES,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,
    }
    compiled = core.compile_model(core.read_model(str(path)), "CPU", config)
    of_thread = threading.local()

    def ask(_: int) -> object:
        if not hasattr(of_thread, "request"):
            of_thread.request = compiled.create_infer_request()
        return of_thread.request.infer(inputs, share_inputs=True)

    ask(0)  # two threads that are its first users wait for each other
    return ask


def fastest_of_one(stream: Stream, cache: Path) -> Ask:
    """Whichever of the two libraries answers a query sooner with one thread, as measured here."""
    found = [load(stream, cache) for load in (_ONE_THREAD, openvino_with_streams)]
    return min(found, key=alone_ns)


_ONE_THREAD = onnxruntime_with(1, spins=False)


def engine(**settings: Any) -> Callable[..., Ask]:
    """Deadlines, and what is set beside them."""

    def load(stream: Stream, cache: Path) -> Ask:
        from surplus.engine.pipeline.load import load_planned

        path, inputs = stream.built()
        due = {"deadline_s": stream.due_ms / 1e3, **settings}
        said = due if stream.due_ms else {"best_effort": True}
        asked = {"cache": cache, "kernels": "auto", "tune": "now", "inputs": inputs}
        model = load_planned(path, f"cpu:{CORES}", **asked, **said)
        return lambda due_ns: model.run(inputs, due_ns=due_ns)

    return load


_LIBRARIES = {"onnxruntime": _ONE_THREAD, "openvino": openvino_with_streams}


class How(NamedTuple):
    """A contender."""

    load: Callable[..., Ask]
    background_callers: int = CORES
    is_nice: bool = False
    """Whether the background is a process at nice 19."""
    gives_up: bool = False
    """Whether a caller does not send what is late before its turn comes."""


HOW: Mapping[str, How] = {
    "onnxruntime": How(onnxruntime_with(0, spins=True), 1),
    "onnxruntime x1": How(_ONE_THREAD),
    "onnxruntime x1, nice": How(_ONE_THREAD, is_nice=True),
    "fastest x1, nice": How(fastest_of_one, is_nice=True),
    "fastest x1, nice, gives up": How(fastest_of_one, is_nice=True, gives_up=True),
    TRITON: How(in_triton(_LIBRARIES, lambda ask: alone_ns(ask), CORES)),
    "surplus": How(engine()),
    "surplus, late served": How(engine(on_late="serve")),
}


def left_out() -> dict[str, str]:
    """Contenders that cannot run here, and why."""
    reason = missing()
    return {TRITON: reason} if reason else {}


class Background:
    """Work without a deadline, as often as it can, while it is told to."""

    def __init__(self, ask: Ask, callers: int) -> None:
        self._ask, self._callers = ask, callers

    def begin(self) -> None:
        """Ask until end()."""
        self._ends = threading.Event()
        self._done = [0] * self._callers
        self._threads = [
            threading.Thread(target=self._work, args=(i,)) for i in range(self._callers)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, index: int) -> None:
        while not self._ends.is_set():
            self._ask(0)
            self._done[index] += not self._ends.is_set()

    def end(self) -> int:
        """How many queries it answered."""
        self._ends.set()
        for thread in self._threads:
            thread.join()
        return sum(self._done)


class NiceBackground:
    """The same in a process of its own."""

    def __init__(self, how: str, cache: Path) -> None:
        words = [sys.executable, "-m", "bench.neighbours.contender", how, "background", str(cache)]
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        self._answer()

    def begin(self) -> None:
        """As of Background."""
        self._tell("begin")

    def end(self) -> int:
        """As of Background."""
        self._tell("end")
        done: int = self._answer()
        return done

    def _tell(self, word: str) -> None:
        assert self._child.stdin, "it is a pipe"
        self._child.stdin.write(word + "\n")
        self._child.stdin.flush()

    def _answer(self) -> Any:
        assert self._child.stdout, "it is a pipe"
        return json.loads(self._child.stdout.readline())


def serve_background(ask: Ask, callers: int) -> None:
    """What that process does, until nobody asks any more."""
    os.nice(_NICE)
    background = Background(ask, callers)
    _say(None)
    for line in sys.stdin:
        if line.strip() == "begin":
            background.begin()
        else:
            _say(background.end())


def turn(
    asks: Mapping[str, Ask], streams: tuple[Stream, ...], asked: Any, gives_up: bool
) -> dict[str, list[int]]:
    """Latencies of each stream, in nanoseconds, of the queries of one turn; 0 of one refused."""
    latencies: dict[str, list[int]] = {}
    threads = []
    begin_ns = time.monotonic_ns() + 50_000_000
    for index, stream in enumerate(streams):
        times = arrivals_s(
            stream, asked["load"], asked["s"], 97 * asked["seed"] + index, poisson=asked["poisson"]
        )
        found = latencies.setdefault(stream.name, [])
        given = (asks[stream.name], begin_ns, times, round(stream.due_ms * 1e6), found, count())
        threads += [
            threading.Thread(target=ask_in_time, args=(*given, gives_up)) for _ in range(CALLERS)
        ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return latencies


def ask_in_time(
    ask: Ask,
    begin_ns: int,
    times: Any,
    due_after_ns: int,
    found: list[int],
    numbers: Iterator[int],
    gives_up: bool,
) -> None:
    """What one of the callers of a stream does, which share ``numbers`` and ``found``."""
    while (number := next(numbers)) < len(times):  # next() holds the interpreter's lock
        meant_ns = begin_ns + round(times[number] * 1e9)
        time.sleep(max(0.0, (meant_ns - time.monotonic_ns()) / 1e9))
        due_ns = meant_ns + due_after_ns
        is_sent = not gives_up or time.monotonic_ns() < due_ns
        done = is_sent and is_answered(ask, due_ns)
        found.append(time.monotonic_ns() - meant_ns if done else 0)


def is_answered(ask: Ask, due_ns: int) -> bool:
    """False if it was refused."""
    try:
        ask(due_ns)
    except Exception as error:  # of a library that only one contender imports
        if type(error).__name__ != "RefusedError":
            raise
        return False
    return True


def alone_ns(ask: Ask) -> float:
    """Of a query without others, which is never refused."""
    due_ns = time.monotonic_ns() + _HOUR_NS
    for _ in range(3):
        ask(due_ns)
    taken = []
    until = time.monotonic() + 0.5
    while len(taken) < 5 or time.monotonic() < until:
        began = time.monotonic_ns()
        ask(due_ns)
        taken.append(time.monotonic_ns() - began)
    return statistics.median(taken)


def main() -> None:
    """Load, then do what is asked until nobody asks any more."""
    how, mix, cache = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    load, callers, is_nice, gives_up = HOW[how]
    if mix == "background":
        return serve_background(load(BACKGROUND, cache), callers)
    streams = MIXES[mix]
    asks = {stream.name: load(stream, cache) for stream in streams}
    background: Background | NiceBackground
    if is_nice:
        background = NiceBackground(how, cache)
    else:
        background = Background(load(BACKGROUND, cache), callers)
    for ask in asks.values():
        is_answered(ask, 0)  # beside what others load now a first query may be refused
    _say({})
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "alone":
            _say({name: alone_ns(ask) for name, ask in asks.items()})
            continue
        background.begin()
        began_s, used_s = time.monotonic(), tree_cpu_s(os.getpid())
        latencies = turn(asks, streams, asked, gives_up)
        done = background.end()
        spent_s = time.monotonic() - began_s
        cpu_s = tree_cpu_s(os.getpid()) - used_s
        _say({"ns": latencies, "background": done, "s": spent_s, "cpu s": cpu_s})
    return None


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
