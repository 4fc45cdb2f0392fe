"""``python -m bench fuzz_cache``: damages files of the cache, loads, and compares the answers.

Each case flips bits of a file of the cache, zeroes some of it, cuts it off or lengthens it, all in
place, and then loads the model in a process of its own, which must answer with the same bits as
before the damage, or say what is wrong. The cache goes on to the next case as that process left it.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import surplus.engine.pipeline.load as loading
import surplus.engine.pipeline.making  # noqa: F401 (once, not in every child)
from bench.safety.fuzz_report import reported
from surplus import models

_OPTIONS: dict[str, Any] = {"devices": "cpu:1", "selection_s": 0, "finalists": 1}
_LIMIT_S = 60
_WRONG, _FAILED = 3, 4

MODELS: Mapping[str, Mapping[str, Any]] = {
    "lenet": {},
    "fork_join": {"branches": 4, "depth": 2, "size": 600, "kind": "matmul"},
    "bert_base": {"layers": 1, "hidden": 128, "sequence": 16, "vocabulary": 4000},
}
"""Small; with weights that are packed, in files large enough to be noted, and of several types."""


@dataclass(frozen=True)
class Damage:
    """What was done to which file, to do it again."""

    file: str
    kind: str
    at: int
    length: int


@dataclass(frozen=True)
class Case:
    """A damage and how loading ended: "right", "wrong", "failed" or "signal N"."""

    number: int
    model: str
    damage: Damage
    outcome: str


def flip(data: bytearray, at: int, length: int) -> bytearray:
    """Another bit of one byte."""
    data[at] ^= 1 << length % 8
    return data


def zero(data: bytearray, at: int, length: int) -> bytearray:
    """Zeros from there on."""
    data[at : at + length] = bytes(len(data[at : at + length]))
    return data


def cut(data: bytearray, at: int, length: int) -> bytearray:
    """Nothing from there on."""
    return data[:at]


def lengthen(data: bytearray, at: int, length: int) -> bytearray:
    """A part of it once more."""
    return data + data[at : at + length]


KINDS: dict[str, Callable[[bytearray, int, int], bytearray]] = {
    "flip": flip,
    "zero": zero,
    "cut": cut,
    "lengthen": lengthen,
}


def damage(cache: Path, rng: random.Random) -> Damage:
    """Change a file of the cache in place, keeping its inode, as a stray program would."""
    files = sorted(p for p in cache.rglob("*") if p.is_file() and p.stat().st_size)
    file = rng.choice(files)
    data = bytearray(file.read_bytes())
    kind = rng.choice(sorted(KINDS))
    at = rng.choice((0, rng.randrange(len(data)), rng.randrange(len(data))))
    done = Damage(str(file.relative_to(cache)), kind, at, rng.randrange(1, 200_000))
    mode = file.stat().st_mode
    file.chmod(0o600)
    changed = KINDS[kind](data, done.at, done.length)
    with file.open("r+b") as stream:
        stream.write(changed)
        stream.truncate(len(changed))
    file.chmod(mode)
    return done


def answer(path: Path, cache: Path, inputs: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Load and run once: what the model says, as bits."""
    found = loading.load(path, inputs=inputs, cache=cache, **_OPTIONS).run(dict(inputs))
    return [(name, array.tobytes()) for name, array in sorted(found.items())]


def in_child(task: Callable[[], int]) -> str:
    """How a process ends that does only that; this one must have loaded nothing before."""
    child = os.fork()
    if child == 0:
        signal.alarm(_LIMIT_S)
        os._exit(_exit_code(task))
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return {0: "right", _WRONG: "wrong"}.get(os.WEXITSTATUS(status), "failed")


def _exit_code(task: Callable[[], int]) -> int:
    try:
        return task()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return _FAILED


class Subject:
    """A model, its cache, and its right answer."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.path = folder / f"{name}.onnx"
        self.cache = folder / f"{name}.cache"
        models.save(models.build(name, **MODELS[name]), self.path)
        self._inputs = dict(models.example_inputs(name, **MODELS[name]))
        self._right = folder / f"{name}.answer"
        for _ in range(2):  # made, then loaded again: both are to be damaged
            if in_child(self._keep) != "right":
                raise RuntimeError(f"{name} cannot be loaded")

    def load(self) -> str:
        """How a process ends that loads and asks it."""
        return in_child(self._check)

    def _keep(self) -> int:
        self._right.write_bytes(repr(answer(self.path, self.cache, self._inputs)).encode())
        return 0

    def _check(self) -> int:
        found = repr(answer(self.path, self.cache, self._inputs)).encode()
        return 0 if found == self._right.read_bytes() else _WRONG


def cases(folder: Path, seed: int) -> Iterator[Case]:
    """Damage after damage, without an end; the models take turns."""
    rng = random.Random(seed)
    subjects = [Subject(name, folder) for name in MODELS]
    number = 0
    while True:
        subject = subjects[number % len(subjects)]
        done = damage(subject.cache, rng)
        yield Case(number, subject.name, done, subject.load())
        number += 1


def fuzz(count: int, seconds: float, seed: int, folder: Path) -> tuple[Counter[str], list[Case]]:
    """Outcomes, and the cases that did not end right, of so many cases or so long."""
    until = time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    bad: list[Case] = []
    for case in cases(folder, seed):
        outcomes[case.outcome] += 1
        if case.outcome != "right":
            bad.append(case)
        if case.number + 1 >= count or time.monotonic() > until:
            return outcomes, bad
    raise AssertionError("cases do not end")


def main() -> int:
    """Print one line of JSON for each case that did not end right, then the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10**9, help="of cases")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        outcomes, bad = fuzz(args.count, args.seconds, args.seed, Path(folder))
    return reported(args.seed, outcomes, bad)


if __name__ == "__main__":
    sys.exit(main())
