"""A model's first run, in a child process that is ended when it takes too long."""

from __future__ import annotations

import json
import logging
import marshal
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from surplus.engine import _core
from surplus.engine.native import find_library

_log = logging.getLogger(__name__)

_CHILD = Path(__file__).with_name("child.py")
_OPENED = b'["opened"'
USED = b'["used"'

_CONFIG = {"session.intra_op.allow_spinning": "0"}
"""A child takes no core from its parent while it waits."""

_BARE = ("-I", "-S")
"""An interpreter without site: given inputs take the packages that it finds, nothing else does."""


class TrialEnd(StrEnum):
    """How a trial ended."""

    OK = "ok"
    ERROR = "error"
    """ONNX Runtime's own, which harms nobody."""
    SIGNAL = "signal"
    TIME = "time"
    NONE = "none"
    """It said nothing: there was no trial."""


@dataclass(frozen=True)
class TrialVerdict:
    """What came of a trial.

    Parameters
    ----------
    end : TrialEnd
    text : str
        The error's, the signal's or the limit's; empty where it went well.
    opened : bool
        Whether the model could be opened.
    """

    end: TrialEnd
    text: str = ""
    opened: bool = True

    @property
    def is_harmless(self) -> bool:
        """Whether the same may be done in a process that others need."""
        return self.end in (TrialEnd.OK, TrialEnd.ERROR)


@dataclass(frozen=True)
class TrialParams:
    """How to try a model.

    Parameters
    ----------
    limit_s : float
        Seconds after which the child is ended; 0 is no limit.
    width : int
        Threads of its session: with several, kernels share work out that a single one just does,
        and some fail there.
    level : str
        Of optimisation.
    config : mapping
        ONNX Runtime's session configuration entries.
    save : str
        Where to keep the model as ONNX Runtime has optimised it; empty for nowhere.
    """

    limit_s: float = 0.0
    width: int = 2
    level: str = "all"
    config: Mapping[str, str] = field(default_factory=dict)
    save: str = ""


class Trial:
    """A trial under way: begun when it is made. ``verdict`` waits for it.

    Parameters
    ----------
    model : Path
        An ONNX file.
    inputs : mapping, optional
        Arrays by name; without them the child makes zeros, open sizes 1.
    """

    def __init__(
        self,
        model: Path,
        inputs: Mapping[str, Any] | None = None,
        params: TrialParams | None = None,
    ) -> None:
        self._params = params or TrialParams()
        self._question: bytes | None = question_of(model, inputs, self._params)
        self._output = b""
        self._began_s = time.monotonic()
        held, self._lifeline = os.pipe()
        try:
            self._child = subprocess.Popen(
                [sys.executable, *(_BARE if inputs is None else ()), str(_CHILD), str(held)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(held,),
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(held)

    def opened(self) -> bool:
        """Wait until the child has opened the model; False if it ends before, or is too slow."""
        self._hear(until=_OPENED)
        return _OPENED in self._output

    def verdict(self) -> TrialVerdict:
        """Wait until the child has ended, and end it when its time is over, or on Ctrl-C."""
        try:
            if not self._hear(until=None):
                return TrialVerdict(
                    TrialEnd.TIME, f"it had not ended after {self._params.limit_s:g} s"
                )
            self._child.wait()
        finally:
            self.end()
        return verdict_of(self._output, self._child.returncode)

    def end(self) -> None:
        """End the child, whatever it does. Again, nothing happens."""
        self._child.kill()
        self._child.communicate()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def _hear(self, until: bytes | None) -> bool:
        """Ask, if that was not done, and read the answer, up to some bytes or its end, in time."""
        try:
            self._ask()
            assert self._child.stdout is not None, "a pipe was asked for"
            pipe = self._child.stdout.fileno()
            while until is None or until not in self._output:
                if not select.select([pipe], [], [], self._left_s())[0]:
                    return False
                part = os.read(pipe, 1 << 16)
                if not part:
                    break
                self._output += part
            return True
        except BaseException:
            self.end()
            raise

    def _ask(self) -> None:
        if self._question is None or self._child.stdin is None:
            return
        with suppress(BrokenPipeError):  # it has ended, and its verdict says how
            self._child.stdin.write(self._question)
            self._child.stdin.flush()
        self._question = None

    def _left_s(self) -> float | None:
        limit_s = self._params.limit_s
        return max(0.0, self._began_s + limit_s - time.monotonic()) if limit_s else None


def question_of(model: Path, inputs: Mapping[str, Any] | None, params: TrialParams) -> bytes:
    """What a server of trials is asked, in a line."""
    session = {
        "width": params.width,
        "level": params.level,
        "config": {**_CONFIG, **params.config},
        "optimized_path": params.save,
    }
    question = {
        "core": _core.__file__,
        "library": str(find_library()),
        "operators": _core.custom_operators(),
        "model": str(model),
        "session": session,
        "inputs": None if inputs is None else pickle.dumps(dict(inputs)),
    }
    return marshal.dumps(question)


def verdict_of(output: bytes, code: int) -> TrialVerdict:
    """What a child said before it ended so."""
    steps = dict(json.loads(line) for line in output.splitlines())
    opened = "opened" in steps
    if "ok" in steps:
        return TrialVerdict(TrialEnd.OK)
    if "error" in steps:
        return TrialVerdict(TrialEnd.ERROR, steps["error"], opened)
    if code < 0:
        return TrialVerdict(
            TrialEnd.SIGNAL, f"it ends its process ({signal.Signals(-code).name})", opened
        )
    _log.warning("a trial said nothing and ended with status %d", code)
    return TrialVerdict(TrialEnd.NONE, f"its trial failed (exit status {code})", opened)
