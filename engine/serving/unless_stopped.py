"""What a signal does while a server still loads its models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from surplus.engine.serving.server import STOP_SIGNALS, AsyncServer

T = TypeVar("T")


async def unless_stopped(
    server: AsyncServer, loading: Coroutine[Any, Any, T], end_by: Callable[[int], NoReturn]
) -> T:
    """Await what makes the server's models ready; SIGTERM and SIGINT meanwhile end the process.

    Queries of models that are ready finish first, within the drain's timeout; a second signal
    ends that. Threads that load cannot be stopped, and both asyncio and the interpreter would wait
    for them: so the process ends by the signal.
    """
    loop = asyncio.get_running_loop()
    first: asyncio.Future[int] = loop.create_future()

    def on_signal(number: int) -> None:
        if first.done():
            server.hurry()
        else:
            first.set_result(number)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal, number)
    try:
        task = loop.create_task(loading)
        await asyncio.wait((task, first), return_when=asyncio.FIRST_COMPLETED)
        if first.done():
            await server.stop()
            end_by(first.result())
        return task.result()
    finally:
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
