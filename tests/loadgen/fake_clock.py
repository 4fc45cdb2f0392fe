"""A clock that stands still until everybody waits, then jumps to the next wake-up."""

import asyncio
import heapq
import itertools

_TURNS = 50


class FakeClock:
    def __init__(self):
        self._now_ns = 0
        self._order = itertools.count()
        self._waiting = []

    def now_ns(self):
        return self._now_ns

    async def sleep_until_ns(self, when_ns):
        wake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (max(when_ns, self._now_ns), next(self._order), wake))
        await wake

    def run(self, coroutine):
        return asyncio.run(self._drive(coroutine))

    async def _drive(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        while not task.done():
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if not task.done():
                when_ns, _, wake = heapq.heappop(self._waiting)
                self._now_ns = max(self._now_ns, when_ns)
                wake.set_result(None)
        return await task
