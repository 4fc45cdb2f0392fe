"""An HTTP server for fuzzers, in a process of its own; prints its port, ends with its input.

Its argument says which front end it has.
"""

import asyncio
import logging
import sys

from surplus.engine.serving.server import AsyncServer
from surplus.engine.serving.server_params import FrontEnd, ServerParams
from tests.serving.fakes import arithmetic, identity

LARGEST_BYTES = 1 << 20


async def main() -> None:
    server = AsyncServer(
        ServerParams(
            grpc_port=0,
            http_port=0,
            max_message_bytes=LARGEST_BYTES,
            front_end=FrontEnd(sys.argv[1]),
        )
    )
    models = {"identity": identity(), "arithmetic": arithmetic(), "texts": identity("BYTES")}
    for name, executor in models.items():
        server.plane.models.add(name).set_ready(executor)
    await server.start()
    print(server.http_port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(main())
