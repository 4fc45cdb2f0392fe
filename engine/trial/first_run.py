"""Files that nobody has seen are first run in a child: what kills its process is not loaded."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from engine.cache.notes import read_note, write_note
from engine.errors import ModelError
from engine.native import load_runtime
from engine.time_limit import left_s
from engine.trial.trial import End, Trial, TrialParams, Verdict

_FOLDER = "trials"
_FORMAT = 1
"""Counts up when trials find out more."""


def require_harmless(path: Path, digest: str, cache: Path) -> None:
    """Run a model once in a child, unless that was done before, by content.

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
        verdict = _tried(path)
        if verdict.end not in (End.TIME, End.NONE):  # another time it may be given longer
            with suppress(OSError):  # a cache that cannot be written costs a trial each time
                note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_note(note, [verdict.end, verdict.text, verdict.opened])
    _refuse(path, verdict)


def require_harmless_at_first(path: Path) -> None:
    """The same of a file whose hash nobody has taken yet; the verdict is not kept.

    Raises
    ------
    ModelError
        As above.
    """
    _refuse(path, _tried(path))


def _tried(path: Path) -> Verdict:
    return Trial(path, params=TrialParams(limit_s=left_s() or 0)).verdict()


def _refuse(path: Path, verdict: Verdict) -> None:
    if verdict.end in (End.SIGNAL, End.TIME):
        step = "run" if verdict.opened else "opened"
        raise ModelError(f"{path}: refused: {step} for the first time, {verdict.text}")


def _read(note: Path) -> Verdict | None:
    row = read_note(note)
    return None if row is None else Verdict(End(row[0]), row[1], row[2])
