"""The process that sends the queries of ``bench chaos``, and notes what becomes of each.

It is told where and what by JSON as its only word, says that it is ready, is told on its input when
to begin (ns of the monotonic clock, which all processes share), and writes a line a query::

    NUMBER <tab> when it was sent <tab> when it ended, ns of the monotonic clock <tab> OUTCOME

``right``; ``wrong`` and what came; gRPC's name of a status; the name of an error of the client's;
or ``unnamed`` and the name of an error that nobody raises on purpose. Its output says how many have
ended, now and then, and at the end what the clients' own books say.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import numpy as np

from bench.chaos.chaos_load import WAYS, ChaosLoad
from bench.chaos.setting import VERSIONS
from surplus.routing.async_client import AsyncClient
from surplus.routing.client_params import ClientParams
from surplus.routing.errors import QueryError, RoutingError

_SAY_EVERY_S = 0.5


@dataclass(frozen=True)
class Asking:
    """What the process is told.

    Parameters
    ----------
    resolver, route : str
        ``http://HOST:PORT`` that clients are told addresses by, ``HOST:PORT`` of the route.
    load : mapping
        Of a ``ChaosLoad``.
    file : str
        For the lines.
    """

    resolver: str
    route: str
    load: Mapping[str, float]
    file: str

    def text(self) -> str:
        """As the process reads it."""
        return json.dumps(asdict(self))

    def chaos_load(self) -> ChaosLoad:
        """The load itself."""
        return ChaosLoad(**self.load)  # type: ignore[arg-type]


async def _ask(client: AsyncClient, model: str, number: int) -> str:
    x = np.full((1, 4), number, np.float32)
    try:
        y = (await client.infer(model, {"x": x}))["y"]
    except QueryError as error:
        return error.kind
    except RoutingError as error:
        return type(error).__name__
    except Exception as error:  # that there are none is what is asked
        return f"unnamed {type(error).__name__}"
    added = y - x if y.shape == x.shape else y
    is_right = any((added == version).all() for version in VERSIONS)
    return "right" if is_right else f"wrong {added.tolist()}"


async def ask_all(asking: Asking, file: IO[str]) -> dict[str, int]:
    """Send all when they are to be; how many each way's servers answered, by the clients' books."""
    load = asking.chaos_load()
    params = ClientParams(timeout_s=load.timeout_s, resolve_s=1.0)
    ended = 0

    async def settle(number: int) -> None:
        nonlocal ended
        sent_ns = time.monotonic_ns()
        outcome = await _ask(clients[load.way(number)], load.model(number), number)
        file.write(f"{number}\t{sent_ns}\t{time.monotonic_ns()}\t{outcome}\n")
        ended += 1

    async def say() -> None:
        while True:
            print(json.dumps({"ended": ended}), flush=True)
            await asyncio.sleep(_SAY_EVERY_S)

    async with AsyncExitStack() as stack:
        servers = {"client": asking.resolver, "route": asking.route}
        clients = {
            way: await stack.enter_async_context(AsyncClient(servers[way], params)) for way in WAYS
        }
        print(json.dumps({"ended": 0}), flush=True)
        begin_ns = int(sys.stdin.readline())
        saying = asyncio.create_task(say())
        async with asyncio.TaskGroup() as tasks:
            for number, send_ns in enumerate(load.send_ns.tolist()):
                left_s = (begin_ns + send_ns - time.monotonic_ns()) / 1e9
                await asyncio.sleep(max(0.0, left_s))
                tasks.create_task(settle(number))
        saying.cancel()
        return {way: sum(row.answered for row in clients[way].counts()) for way in WAYS}


def main() -> None:
    """Ask, and tell."""
    asking = Asking(**json.loads(sys.argv[1]))
    with Path(asking.file).open("w", encoding="utf-8", buffering=1) as file:
        answered = asyncio.run(ask_all(asking, file))
    print(json.dumps({"answered": answered}), flush=True)


if __name__ == "__main__":
    main()
