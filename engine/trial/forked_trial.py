"""A trial in a fork of a server that has imported all it needs."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

from surplus.engine.trial.servers import (
    ENDED,
    OPENED_OR_ENDED,
    READ_OR_ENDED,
    SERVERS,
    ServerEndedError,
    TrialServer,
)
from surplus.engine.trial.trial import (
    USED,
    TrialEnd,
    TrialParams,
    TrialVerdict,
    question_of,
    verdict_of,
)


class ForkedTrial:
    """A trial on zeros, open sizes 1, in a fork of a process that has ONNX Runtime loaded.

    It has begun when it is made.
    """

    def __init__(self, model: Path, params: TrialParams) -> None:
        self.params = params
        self.limit(params.limit_s)
        self._question = question_of(model, None, params)
        self._server: TrialServer | None = None
        with suppress(ServerEndedError):
            self._server = SERVERS.begun(self._question)

    def limit(self, limit_s: float) -> None:
        """Give it so many seconds from now on; 0 is no limit."""
        self._limit_s = limit_s
        self._end_s = time.monotonic() + limit_s if limit_s else None

    def read(self) -> bool:
        """Wait until the child has read the file; False if it ends before, or is too slow."""
        return self._has_come_to(READ_OR_ENDED)

    def opened(self) -> bool:
        """The same of opening the model."""
        return self._has_come_to(OPENED_OR_ENDED)

    def _has_come_to(self, step: re.Pattern[bytes]) -> bool:
        if self._server is None:
            return False
        try:
            return self._heard(self._server, step)[0].startswith(b"[")
        except (TimeoutError, ServerEndedError):
            return False

    def verdict(self) -> TrialVerdict:
        """Wait until the child has ended, and end it when its time is over, or on Ctrl-C."""
        if self._server is None:
            return TrialVerdict(TrialEnd.NONE, "its trial failed")
        try:
            verdict, was_used = self._ended()
            if verdict.end is TrialEnd.SIGNAL and was_used:  # by a model that may have spoilt it
                self._server.end()
                self._server = SERVERS.begun(self._question)
                verdict, _ = self._ended()
            server, self._server = self._server, None
            SERVERS.give_back(server)
            return verdict
        except TimeoutError:
            return TrialVerdict(TrialEnd.TIME, f"it had not ended after {self._limit_s:g} s")
        except ServerEndedError:
            return TrialVerdict(TrialEnd.NONE, "its trial failed")
        finally:
            self.end()

    def end(self) -> None:
        """End the child, whatever it does. Again, nothing happens."""
        if self._server is not None:
            self._server.end()
            self._server = None

    def _ended(self) -> tuple[TrialVerdict, bool]:
        """What came of it, and whether its process had tried another model before."""
        assert self._server is not None, "it was asked"
        ended = self._heard(self._server, ENDED)
        said: bytes = ended.string[: ended.start()]
        return verdict_of(said, int(ended[1])), said.startswith(USED)

    def _heard(self, server: TrialServer, until: re.Pattern[bytes]) -> re.Match[bytes]:
        try:
            return server.hear(until, self._end_s)
        except ServerEndedError:
            if server.has_said:
                raise
        self.end()  # it ended in the moment when it was asked, since nobody had for a while
        self._server = SERVERS.begun(self._question)
        return self._server.hear(until, self._end_s)
