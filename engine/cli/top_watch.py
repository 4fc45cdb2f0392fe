"""Shows how models do, once or again and again."""

from __future__ import annotations

import time

from surplus.engine.cli.asked_cluster import AskedCluster
from surplus.engine.cli.asked_server import AskedServer
from surplus.engine.cli.output import show_json
from surplus.engine.cli.top_tables import clear, show_top


def watch(
    asked: AskedServer | AskedCluster,
    window_s: float | None,
    every_s: float,
    *,
    once: bool,
    as_json: bool,
) -> None:
    """Until it is interrupted, or has shown one look."""
    if once:
        asked.await_recording(window_s)
    while True:
        found = asked.top(window_s)
        clear(not once and not as_json)
        (show_json if as_json else show_top)(found)
        if once:
            return
        time.sleep(every_s)
