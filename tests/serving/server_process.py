"""A server for tests that need a process of its own: prints its port, then what happens.

Model ``console`` answers when a line comes on standard input, ``identity`` at once.
"""

import asyncio
import logging
import sys

from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import ServerParams
from tests.serving.fakes import Function, identity


class Console(Function):
    async def infer(self, inputs, outputs, deadline_ns, priority=0):
        print("entered", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        return {"y": inputs["x"]}

    def close(self) -> None:
        print("closed", flush=True)


async def main() -> None:
    server = AsyncServer(ServerParams(grpc_port=0))
    spec = identity()
    server.plane.models.add("console").set_ready(Console(None, spec.inputs, spec.outputs))
    server.plane.models.add("identity").set_ready(spec)
    print(await server.start(), flush=True)
    print("finished", await server.serve_until_stopped(), flush=True)


logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
asyncio.run(main())
