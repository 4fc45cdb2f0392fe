"""``python -m bench isolation``: what ``--isolate`` costs, and what it is for.

First two servers, one with a process a model, are asked by the same native client in turns. Then
an isolated one gets 100,000 hostile requests while processes of its models are killed again and
again: how soon each is back, what was lost, and whether a model that nobody kills noticed.
``--quick`` does a little of each and stores nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import signal
import statistics
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc.aio

from bench.infrastructure import result_file
from bench.serving.__main__ import measured
from bench.serving.contenders import Started
from bench.serving.loads import Asking
from bench.serving.payloads import Payload, all_payloads, floats_16, kilobytes_600
from bench.serving.server_process import ServerProcess
from bench.serving.surplus_server import start_surplus
from surplus.loadgen.clients.grpc_request import infer_request
from surplus.loadgen.clients.tensors import from_array

LOADS = tuple(
    Asking(payload, protocol, clients)
    for payload, protocol in (("floats_16", "grpc"), ("kilobytes_600", "grpc"))
    for clients in (1, 16)
)
_HOSTILE, _AT_A_TIME = 100_000, 64
_KILL_EVERY_S = 1.0
_INFER = "/inference.GRPCInferenceService/ModelInfer"
_CALM = "squeezenet"
"""The model that nobody kills, and who is asked all the time."""


def cost_rows(folder: Path, rounds: int, turn_s: float) -> list[dict[str, Any]]:
    """A row for each load and way, as ``bench serving`` has them."""
    with ExitStack() as stack:
        there: dict[str, Started] = {}
        for name, options in (("one process", ()), ("a process a model", ("--isolate",))):
            own = folder / name.replace(" ", "_")
            own.mkdir()
            there[name] = start_surplus(own, all_payloads(), options)
            stack.callback(there[name].end)
        return measured(there, LOADS, rounds, turn_s)


class Hostile:
    """Clients that send what is no query, one who sends queries, and one who kills processes."""

    def __init__(self, server: ServerProcess, log: Path, count: int) -> None:
        self._server, self._log, self._left = server, log, count
        self._random = random.Random(count)
        self._payloads = {p.name: p for p in (floats_16(), kilobytes_600())}
        self.statuses: Counter[str] = Counter()
        self.calm: Counter[str] = Counter()
        self.back_s: list[float] = []

    async def run(self) -> None:
        """Until all was sent."""
        address = f"127.0.0.1:{self._server.port('grpc')}"
        options = [("grpc.use_local_subchannel_pool", 1)]
        async with (
            grpc.aio.insecure_channel(address, options) as channel,
            grpc.aio.insecure_channel(address, options) as other,
        ):
            infer, calm = channel.unary_unary(_INFER), other.unary_unary(_INFER)
            beside = [asyncio.create_task(self._kill(calm)), asyncio.create_task(self._ask(calm))]
            await asyncio.gather(*(self._send(infer) for _ in range(_AT_A_TIME)))
            for task in beside:
                task.cancel()

    async def _send(self, infer: Any) -> None:
        well = [_request(payload) for payload in self._payloads.values()]
        while self._left > 0:
            self._left -= 1
            request = _mutated(self._random.choices(well, (50, 1))[0], self._random)
            self.statuses[await _status(infer, request)] += 1

    async def _ask(self, infer: Any) -> None:
        request = _request(all_payloads()[_CALM])
        while True:
            self.calm[await _status(infer, request)] += 1

    async def _kill(self, infer: Any) -> None:
        while True:
            await asyncio.sleep(_KILL_EVERY_S)
            for name, payload in self._payloads.items():
                said = re.findall(rf"{name}: in process (\d+)", self._log.read_text())
                os.kill(int(said[-1]), self._random.choice((signal.SIGKILL, signal.SIGSEGV)))
                since_s, request = time.monotonic(), _request(payload)
                while await _status(infer, request) != "OK":
                    await asyncio.sleep(0.005)
                self.back_s.append(time.monotonic() - since_s)


async def _status(infer: Any, request: bytes) -> str:
    try:
        await infer(request, timeout=60.0)
    except grpc.aio.AioRpcError as error:
        return str(error.code().name)
    return "OK"


def _request(payload: Payload) -> bytes:
    tensors = [from_array(name, array) for name, array in payload.inputs.items()]
    return bytes(infer_request(payload.name, "", tensors))


def _mutated(request: bytes, chance: random.Random) -> bytes:
    """A query with some bytes of its first hundred changed, added or gone."""
    data = bytearray(request)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(min(100, len(data)))
        match chance.randrange(4):
            case 0:
                data[place] = chance.randrange(256)
            case 1:
                data[place] ^= 1 << chance.randrange(8)
            case 2:
                del data[place : place + chance.randint(1, 8)]
            case _:
                data[place:place] = chance.randbytes(chance.randint(1, 8))
    return bytes(data)


def hostile_row(folder: Path, count: int) -> dict[str, Any]:
    """What came of so many hostile requests."""
    own = folder / "hostile"
    own.mkdir()
    server = start_surplus(own, all_payloads(), ("--isolate",))
    try:
        hostile = Hostile(server, own / "log", count)
        begun_s = time.monotonic()
        asyncio.run(hostile.run())
        return {
            "hostile requests": count,
            "seconds": round(time.monotonic() - begun_s, 1),
            "answers": _counts(hostile.statuses),
            "processes killed": len(hostile.back_s),
            "back after ms, median": round(1e3 * statistics.median(hostile.back_s or [0])),
            "back after ms, most": round(1e3 * max(hostile.back_s, default=0)),
            "of the model that nobody killed": _counts(hostile.calm),
            "server died": not Path(f"/proc/{server.pid}").exists(),
        }
    finally:
        server.end()


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counter.most_common())


def main() -> None:
    """Measure both, and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turn-s", type=float, default=3.0)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    rounds, turn_s = (1, 0.5) if args.quick else (args.rounds, args.turn_s)
    with tempfile.TemporaryDirectory(prefix="surplus-bench-") as folder:
        costs = cost_rows(Path(folder), rounds, turn_s)
        hostile = hostile_row(Path(folder), 3000 if args.quick else _HOSTILE)
    result_file.show("Hostile requests to isolated models", [hostile])
    if args.quick:
        return
    config = {"rounds": rounds, "turn s": turn_s}
    result_file.write("isolation_cost", config, costs)
    result_file.write("isolation_hostile", config, [hostile])


if __name__ == "__main__":
    main()
