"""The verbs' standard streams: what they print and log cannot command a terminal, nor flood it."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from surplus.engine.printable import printable

_SECOND_NS = 1_000_000_000
_MOST_KNOWN = 1000
_ADDRESS = re.compile("0x[0-9a-f]+")
_FORMAT = "%(levelname)s %(name)s: %(message)s"


class PrintableStream:
    """A text stream that escapes control characters; all else is the stream's own.

    What draws on a terminal on purpose writes to ``raw``, and escapes the text that it is given.
    """

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        """Write the text, escaped."""
        self.raw.write(printable(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def raw_stream(stream: Any) -> TextIO:
    """The stream itself below ``PrintableStream``."""
    found: TextIO = stream.raw if isinstance(stream, PrintableStream) else stream
    return found


@contextmanager
def printable_streams() -> Iterator[None]:
    """While this lasts, stdout and stderr are printable."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (PrintableStream(raw_stream(s)) for s in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class OnceASecond(logging.Filter):
    """Lets a line through once a second, and says then how many there were like it.

    Lines are alike if their text is, or what was raised in the same words, but for addresses of
    objects; lines that differ in what they name are alike beyond ten a second.
    """

    def __init__(self, clock_ns: Callable[[], int] = time.monotonic_ns, others: int = 10) -> None:
        super().__init__()
        self._clock_ns = clock_ns
        self._others = others
        self._seen: OrderedDict[Any, list[int]] = OrderedDict()
        """By line: when it was let through first in this second, how often since, how many not."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write the line; adds to it how many were not."""
        text = record.getMessage()
        raised = str(record.exc_info[1]) if record.exc_info else ""
        alike = self._passes((record.name, *(_ADDRESS.sub("", part) for part in (text, raised))), 1)
        kind = self._passes((record.name, record.levelno, record.msg), self._others)
        if alike is None or kind is None:
            return False
        missing = max(alike, kind)
        if missing:
            record.msg, record.args = f"{text} (and {missing} more like it)", ()
        return True

    def _passes(self, key: Any, most: int) -> int | None:
        """How many like it were held back, if this one passes; None if it does not."""
        now_ns = self._clock_ns()
        began_ns, passed, held = self._seen.pop(key, (now_ns - _SECOND_NS, 0, 0))
        if now_ns - began_ns >= _SECOND_NS:
            began_ns, passed = now_ns, 0
        goes = passed < most
        self._seen[key] = [began_ns, passed + 1, 0] if goes else [began_ns, passed, held + 1]
        if len(self._seen) > _MOST_KNOWN:
            self._seen.popitem(last=False)
        return held if goes else None


def log_to_stderr(level: int) -> None:
    """Log from that level on, if nothing is set up yet."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(OnceASecond())
    logging.basicConfig(level=level, format=_FORMAT, handlers=[handler])
