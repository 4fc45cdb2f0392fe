"""Files that nobody has seen are first run in a child: what kills its process is not loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.errors import ModelError
from surplus.engine.interpreter import find_interpreter
from surplus.engine.native import load_runtime
from surplus.engine.time_limit import left_s
from surplus.engine.trial.forked_trial import ForkedTrial
from surplus.engine.trial.graph_size import GraphSize, graph_size
from surplus.engine.trial.trial import TrialEnd, TrialParams, TrialVerdict

_FOLDER = "trials"
_FORMAT = 3
"""Counts up when trials find out more."""

_ONE_RUN = {"session.enable_mem_pattern": "0"}
"""To note for a second run what tensors take is quadratic in those alive at once: 8 s or more of
50,000 that one Concat joins."""

_LARGE_GRAPH = 32_768
"""Nodes and constants of which each process that has read them holds some 100 MiB."""

_MANY_CONSTANTS = 4096
"""Opening without packing is quadratic in their number: 45 to 69 s of 50,000, else 7 to 10."""


def require_harmless(path: Path, digest: str, cache: Path) -> None:
    """Run a model once in a child, unless that was done before, by content, or none can be started.

    It runs on zeros, open sizes 1: the errors of these are no reason to refuse it. The calling
    thread's time limit holds (engine/time_limit.py).

    Parameters
    ----------
    digest : str
        Of the file and its external data.
    cache : Path
        Folder that keeps the verdict.

    Raises
    ------
    ModelError
        If opening or running the model ends the process, or does not end in time.
    """
    note = cache / _FOLDER / f"{digest}-ort{load_runtime()}-{_FORMAT}"
    verdict = _read(note)
    if verdict is None:
        if find_interpreter() is None:
            return
        verdict = _tried(path)
        if verdict.end not in (TrialEnd.TIME, TrialEnd.NONE):  # another time it may be given longer
            with suppress(OSError):  # a cache that cannot be written costs a trial each time
                note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_note(note, [verdict.end, verdict.text, verdict.opened])
    _refuse(path, verdict)


@contextmanager
def harmless_at_first(path: Path) -> Iterator[Callable[[], None]]:
    """The same of a file whose hash nobody has taken yet, around what opens it; nothing is kept.

    The block is one step behind the child: it is entered when that has read the file, and goes on
    beside the child's run. It must not run the model. What it raises is raised where the model is
    harmless. Of a large graph it is entered when the child has ended: two would hold it.

    Yields
    ------
    callable
        To be called between reading the file and opening the model: waits until the child has.

    Raises
    ------
    ModelError
        As above.
    """
    if find_interpreter() is None:
        yield _go_on
        return
    size = graph_size(path)
    trial = ForkedTrial(path, _quick(size))
    trial.limit(left_s() or 0)
    try:
        if size.nodes + size.constants >= _LARGE_GRAPH:
            _refuse(path, trial.verdict())
            yield _go_on
            return
        if not trial.read():
            _refuse(path, trial.verdict())

        def wait() -> None:
            if not trial.opened():
                _refuse(path, trial.verdict())

        failure = None
        try:
            yield wait
        except Exception as error:  # of a model that is refused, the reason is the verdict
            failure = error
        _refuse(path, trial.verdict())
        if failure is not None:
            raise failure
    finally:
        trial.end()


def _go_on() -> None:
    """There is nothing to wait for."""


def _tried(path: Path) -> TrialVerdict:
    trial = ForkedTrial(path, TrialParams(limit_s=left_s() or 0, config=_ONE_RUN))
    try:
        return trial.verdict()
    finally:
        trial.end()


def _quick(size: GraphSize) -> TrialParams:
    """Opened in half the time: constants are folded, but kernels of all levels not chosen nor their
    weights packed, if these are not too many. Who measures the model tries it at its full level.

    What is quantised is tried at that at once: its kernels are others then, and do not all do well
    with nothing.
    """
    packs = size.constants >= _MANY_CONSTANTS
    config = _ONE_RUN if packs else {**_ONE_RUN, "session.disable_prepacking": "1"}
    level = "all" if size.is_quantised else "basic"
    return TrialParams(level=level, config=config)


def _refuse(path: Path, verdict: TrialVerdict) -> None:
    if verdict.end in (TrialEnd.SIGNAL, TrialEnd.TIME):
        step = "run" if verdict.opened else "opened"
        raise ModelError(f"{path}: refused: {step} for the first time, {verdict.text}")


def _read(note: Path) -> TrialVerdict | None:
    row = read_note(note)
    return None if row is None else TrialVerdict(TrialEnd(row[0]), row[1], row[2])
