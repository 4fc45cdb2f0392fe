"""One way to answer queries that are due, in a process of its own, in turns.

``python -m bench.promises.contender HOW CACHE``; a request in JSON a line of the input, its answer
a line of the output: ``{"do": "alone"}`` says what a query takes by itself on one lane, ``{"do":
"turn", "rate": 30, "s": 6, "seed": 1, "due_ms": 1000}`` serves an open loop (Poisson) and says what
became of its queries, ``{"do": "flood"}`` what another model's queries wait beside a flood of 250.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.kernels.models import model_of

MODEL, LIGHT = "resnet50", "squeezenet"
CORES = len(os.sched_getaffinity(0))
_HOUR_NS = 3_600 * 10**9
ALONE_S, FLOOD, FLOOD_S, ASKED_EVERY_S = 0.6, 250, 4.0, 0.05


class Refused(Exception):
    """The query will not be answered."""


class Answering(Protocol):
    """Loaded models."""

    async def ask(self, due_ns: int) -> None:
        """Answer a query of the model; raises ``Refused``."""
        ...

    async def ask_light(self) -> None:
        """Answer one of the light model, which is not due."""
        ...


class Sessions:
    """One-thread sessions of ONNX Runtime, as many as cores, which answer in order of arrival.

    Parameters
    ----------
    drops : bool
        Whether one that is late is dropped when its turn comes.
    """

    def __init__(self, cache: Path, *, drops: bool) -> None:
        self._drops = drops
        self._threads = ThreadPoolExecutor(CORES)
        self._asks = {name: self._loaded(name) for name in (MODEL, LIGHT)}

    def _loaded(self, name: str) -> Callable[[], Any]:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        path, inputs = model_of(name)
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        return lambda: session.run(None, inputs)

    async def ask(self, due_ns: int) -> None:
        """As of Answering."""

        def answer() -> None:
            if self._drops and time.monotonic_ns() > due_ns:
                raise Refused
            self._asks[MODEL]()

        await asyncio.get_running_loop().run_in_executor(self._threads, answer)

    async def ask_light(self) -> None:
        """As of Answering."""
        await asyncio.get_running_loop().run_in_executor(self._threads, self._asks[LIGHT])


class Engine:
    """Ours.

    Parameters
    ----------
    on_late : str
        As of ``surplus.load``.
    """

    def __init__(self, cache: Path, *, on_late: str) -> None:
        from surplus.engine.pipeline.load import load_planned

        asked: dict[str, Any] = {"cache": cache, "kernels": "onnxruntime", "tune": "now"}
        path, self._inputs = model_of(MODEL)
        self._on_late = on_late
        self.model = load_planned(
            path, f"cpu:{CORES}", inputs=self._inputs, on_late=on_late, **asked
        )
        path, self._light_inputs = model_of(LIGHT)
        self._light = load_planned(path, f"cpu:{CORES}", inputs=self._light_inputs, **asked)

    def be_due(self, due_ms: float | None) -> None:
        """From now on queries are, or are not."""
        from surplus.engine.runtime.urgency import Urgency

        self.model.be_urgent(
            Urgency.asked(due_ms and due_ms / 1e3, 0, False).admitting(self._on_late, 0, 1)
        )

    async def ask(self, due_ns: int) -> None:
        """As of Answering."""
        from surplus.engine.errors import RefusedError

        try:
            await self.model.infer(self._inputs)
        except RefusedError as error:
            raise Refused from error

    async def ask_light(self) -> None:
        """As of Answering."""
        await self._light.infer(self._light_inputs)


class ByPolicy:
    """Ours, where a policy of co-location says what runs when; its targets are the queries' own.

    Parameters
    ----------
    policy : str
        Of ``engine simulate``.
    """

    def __init__(self, cache: Path, *, policy: str) -> None:
        from surplus.engine.scheduling.policy_params import PolicyParams, prepare
        from surplus.engine.scheduling.policy_service import PolicyService
        from surplus.engine.scheduling.served_by_policy import ServedByPolicy

        found = {name: model_of(name) for name in (MODEL, LIGHT)}
        self._inputs = {name: inputs for name, (_, inputs) in found.items()}
        never_ns = dict.fromkeys(found, _HOUR_NS)
        asked = PolicyParams(policy, never_ns, devices=f"cpu:{CORES}", most_items=1, cache=cache)
        ready = prepare(asked, {name: path for name, (path, _) in found.items()})
        service = PolicyService(ready.demand, ready.policy, ready.models, ready.places)
        self._served = {name: ServedByPolicy(service, i, 1) for i, name in enumerate(found)}

    async def ask(self, due_ns: int) -> None:
        """As of Answering."""
        from surplus.engine.errors import DeadlineError

        try:
            await self._served[MODEL].infer(self._inputs[MODEL], None, due_ns, None)
        except DeadlineError as error:
            raise Refused from error

    async def ask_light(self) -> None:
        """As of Answering."""
        await self._served[LIGHT].infer(self._inputs[LIGHT], None, None, None)


HOW: Mapping[str, Callable[[Path], Answering]] = {
    "onnxruntime x1": lambda cache: Sessions(cache, drops=False),
    "onnxruntime x1, drops": lambda cache: Sessions(cache, drops=True),
    "surplus": lambda cache: Engine(cache, on_late="reject"),
    "surplus, late served": lambda cache: Engine(cache, on_late="serve"),
    "surplus, edf_drop": lambda cache: ByPolicy(cache, policy="edf_drop"),
}


@dataclass
class Found:
    """What became of the queries of a turn, in nanoseconds from when each was meant to be sent."""

    answered_ns: list[int] = field(default_factory=list)
    ended_ns: list[int] = field(default_factory=list)  # of these, from the turn's beginning
    refused_ns: list[int] = field(default_factory=list)
    dropped: int = 0
    unanswered: int = 0  # when the last one was due


async def turn(answering: Answering, asked: Any) -> Found:
    """An open loop; ends when all of its queries have, or the last one is late."""
    random = np.random.default_rng(asked["seed"])
    count = int(asked["rate"] * asked["s"] * 2 + 20)
    times = np.cumsum(random.exponential(1 / asked["rate"], count))
    begin_ns, due_after_ns = time.monotonic_ns() + 50_000_000, round(asked["due_ms"] * 1e6)
    found = Found()

    async def query(meant_ns: int) -> None:
        try:
            await answering.ask(meant_ns + due_after_ns)
            now_ns = time.monotonic_ns()
            found.answered_ns.append(now_ns - meant_ns)
            found.ended_ns.append(now_ns - begin_ns)
        except Refused:
            took_ns = time.monotonic_ns() - meant_ns
            # What was admitted, and dropped when it was late, was no refusal.
            if took_ns > due_after_ns / 2:
                found.dropped += 1
            else:
                found.refused_ns.append(took_ns)

    queries = set()
    for at_s in times[times < asked["s"]]:
        meant_ns = begin_ns + round(at_s * 1e9)
        await asyncio.sleep(max(0.0, (meant_ns - time.monotonic_ns()) / 1e9))
        queries.add(asyncio.create_task(query(meant_ns)))
    _, late = await asyncio.wait(queries, timeout=asked["due_ms"] / 1e3)
    found.unanswered = len(late)
    await _cancelled(late)
    return found


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def flood(answering: Answering) -> list[int]:
    """What queries of the light model take while so many of the other are always waiting."""
    ends = time.monotonic() + FLOOD_S

    async def again() -> None:
        while time.monotonic() < ends:
            await answering.ask(2**62)

    taken_ns: list[int] = []
    floods = [asyncio.create_task(again()) for _ in range(FLOOD)]
    await asyncio.sleep(ASKED_EVERY_S)
    while time.monotonic() < ends:
        began_ns = time.monotonic_ns()
        await answering.ask_light()
        taken_ns.append(time.monotonic_ns() - began_ns)
        await asyncio.sleep(ASKED_EVERY_S)
    await _cancelled(floods)
    return taken_ns


async def alone_ns(answering: Answering) -> float:
    """What a query takes while there is one for each core, so that each has a lane, on the mean."""
    taken: list[int] = []

    async def caller() -> None:
        until = time.monotonic() + ALONE_S
        while time.monotonic() < until:
            began_ns = time.monotonic_ns()
            await answering.ask(2**62)
            taken.append(time.monotonic_ns() - began_ns)

    await asyncio.gather(*(caller() for _ in range(CORES)))
    return statistics.fmean(taken)


async def main() -> None:
    """Load, then do what is asked until nobody asks any more."""
    answering = HOW[sys.argv[1]](Path(sys.argv[2]))
    await alone_ns(answering)
    _say({})
    while line := await asyncio.to_thread(sys.stdin.readline):
        asked = json.loads(line)
        if isinstance(answering, Engine):
            answering.be_due(asked.get("due_ms"))
        used_s, began_s = time.process_time(), time.monotonic()
        if asked["do"] == "alone":
            _say({"ns": await alone_ns(answering)})
        elif asked["do"] == "flood":
            _say({"ns": await flood(answering)})
        else:
            found = await turn(answering, asked)
            spent = {"cpu s": time.process_time() - used_s, "s": time.monotonic() - began_s}
            _say(vars(found) | spent)


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
