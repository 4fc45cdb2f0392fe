"""One query in flight."""

from __future__ import annotations

from surplus.loadgen.client import QuerySender
from surplus.loadgen.clock import LoadClock
from surplus.loadgen.errors import ClientError
from surplus.loadgen.record import Recorder


async def fly(client: QuerySender, row: int, recorder: Recorder, clock: LoadClock) -> None:
    """Send the query of ``row``, wait for its answer, close the row."""
    kind = message = ""
    try:
        await client.send(row)
    except ClientError as error:
        kind, message = error.kind, error.message
    recorder.finish(row, clock.now_ns(), kind, message)
