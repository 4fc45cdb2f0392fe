"""``python -m bench fuzz_problems``: damages placement problems, and expects an error or a plan.

Each case takes a valid problem as JSON and changes one to three places of it: a value becomes
one of a list of nasty ones, or goes, comes twice or moves; or bytes of the text change. Then either
the problem is refused by a ``ProblemError`` of one line that names a field, or all that is made of
it is right: it goes round as JSON, a policy places it, the validator finds no fault in what the
simulator makes of that, the stored schedule passes its own check, and no bound is above it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from bench.safety.fuzz_report import reported
from surplus.milp.search import combinatorial_bound_ns
from surplus.placement import (
    Blob,
    Device,
    InfeasibleError,
    Link,
    Problem,
    ProblemError,
    Task,
    Tensor,
    check,
    lower_bounds,
    make_policy,
    policy_names,
    simulate,
)
from surplus.placement.random_disturbances import small_disturbed
from surplus.placement.random_graphs import small_random
from surplus.placement.stored_schedule import schedule_rows
from surplus.placement.stored_schedule_check import stored_faults

_LIMIT_S = 10
_BASES = 60
_TEXT_SHARE = 0.2

NASTY: tuple[Any, ...] = (
    None, True, False, "", "x", "host", "m1", "d0", "a\nb", [], {}, [0], [[]], {"a": 1},
    -1, 0, 1, 2, 3, 5, 4096, 4097, 10**9, 2**31, 2**32, 2**52, 2**53 - 1, 2**53, 2**62, 2**63,
    2**64, -(2**63), 10**30, 10**400, 0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 1e-300, 5e-324, 1e-9, 1e30,
    1e300, -1e300,
)  # fmt: skip
"""What stands where something else should; all of it can be written as JSON."""

WORDS = ("NaN", "Infinity", "1e999", "-0", "1E5", "\\ud800", "\x00", "\ufeff", "}", "[", '"', ",")
"""What is put into the text itself."""

FIELDS = frozenset(
    field.name for kind in (Problem, Device, Link, Task, Tensor, Blob) for field in fields(kind)
) | {"format", "JSON", "unknown"}
"""One of these is in each refusal: a field, or that the whole is none."""


class HangError(Exception):
    """A case takes too long."""


@dataclass(frozen=True)
class Case:
    """A text and what became of it: "refused", "no plan", "right", or what is wrong with it."""

    number: int
    text: str
    outcome: str


def bases() -> list[Any]:
    """Valid problems, as plain values."""
    rows = []
    for seed in range(_BASES):
        make = small_disturbed if seed % 2 else small_random
        problem = make(seed, seed % 6 + 1, seed % 3 + 1)
        if seed % 5 == 0:
            held = replace(problem.tasks[0], weight_bytes=20, blobs=(0,))
            problem = replace(problem, blobs=(Blob("w", 9),), tasks=(held, *problem.tasks[1:]))
        if seed % 7 == 0:
            roomy = tuple(replace(d, memory_bytes=600) for d in problem.devices)
            problem = replace(problem, devices=roomy)
        rows.append(json.loads(problem.to_json()))
    return rows


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container below a value with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def put_nasty(holder: Any, key: Any, rng: random.Random) -> None:
    """Another value, which is nasty."""
    holder[key] = rng.choice(NASTY)


def nudge(holder: Any, key: Any, rng: random.Random) -> None:
    """A number that is another, often still a right one."""
    if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        value = holder[key]
        holder[key] = rng.choice((value + 1, value - 1, value * 1000, -value, rng.randrange(100)))
    else:
        put_nasty(holder, key, rng)


def remove(holder: Any, key: Any, rng: random.Random) -> None:
    """Nothing."""
    del holder[key]


def repeat(holder: Any, key: Any, rng: random.Random) -> None:
    """The same once more: an element of a list, or a value under another name."""
    if isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), holder[key])
    else:
        holder[rng.choice(sorted(FIELDS))] = holder[key]


def exchange(holder: Any, key: Any, rng: random.Random) -> None:
    """A value and another of the same list or object."""
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    put_nasty, nudge, nudge, nudge, nudge, remove, repeat, exchange,
)  # fmt: skip


def damaged(raw: Any, rng: random.Random) -> str:
    """A problem's text after one to three changes."""
    raw = json.loads(json.dumps(raw))
    for _ in range(rng.choice((1, 1, 2, 3))):
        found = list(places(raw))
        if found:
            rng.choice(CHANGES)(*rng.choice(found), rng)
    text = json.dumps(raw)
    if rng.random() >= _TEXT_SHARE:
        return text
    at = rng.randrange(len(text))
    word = rng.choice((*WORDS, chr(rng.randrange(32, 127))))
    return text[:at] + word + text[at + rng.choice((0, 1, len(word), len(text))) :]


def judge(text: str, number: int) -> str:
    """What becomes of a text."""
    try:
        problem = Problem.from_json(text)
    except ProblemError as error:
        return refusal(str(error))
    if Problem.from_json(problem.to_json()) != problem:
        return "does not go round"
    names = policy_names()
    try:
        placement = make_policy(names[number % len(names)]).place(problem)
    except InfeasibleError:
        return "no plan"
    timeline = simulate(problem, placement)
    check(problem, placement, timeline)
    bound_ns = max(lower_bounds(problem).makespan_ns, combinatorial_bound_ns(problem))
    if bound_ns > timeline.makespan_ns:
        return f"bound {bound_ns} above makespan {timeline.makespan_ns}"
    stored = {
        "format": "surplus-placed/1",
        "problem": problem.name,
        "makespan_ns": timeline.makespan_ns,
        "bound_ns": bound_ns,
        **schedule_rows(problem, placement, timeline),
    }
    return "; ".join(stored_faults(problem, json.dumps(stored))) or "right"


def refusal(message: str) -> str:
    """Whether a refusal says in one line what is wrong."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in message).split()
    named = message.startswith("problem") and not FIELDS.isdisjoint(words)
    return "refused" if named and message.isprintable() else f"refused unclearly: {message!r}"


def timed(text: str, number: int) -> str:
    """As ``judge``, but whatever is raised, or takes too long, is told."""
    signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
    try:
        return judge(text, number)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def cases(seed: int) -> Iterator[Case]:
    """Case after case, without an end."""
    rng = random.Random(seed)
    valid = bases()
    number = 0
    while True:
        text = damaged(rng.choice(valid), rng)
        yield Case(number, text, timed(text, number))
        number += 1


def fuzz(count: int, seconds: float, seed: int) -> tuple[Counter[str], list[Case]]:
    """Outcomes, and the cases that are wrong, of so many cases or so long."""
    until = time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    bad: list[Case] = []
    signal.signal(signal.SIGALRM, _hang)
    for case in cases(seed):
        right = case.outcome in ("refused", "no plan", "right")
        outcomes[case.outcome if right else "wrong"] += 1
        if not right:
            bad.append(case)
        if case.number + 1 >= count or time.monotonic() > until:
            return outcomes, bad
    raise AssertionError("cases do not end")


def _hang(*_: object) -> None:
    raise HangError(f"more than {_LIMIT_S} s")


def main() -> int:
    """Print one line of JSON for each case that is wrong, then the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="of cases (%(default)d)")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    outcomes, bad = fuzz(args.count, args.seconds, args.seed)
    return reported(args.seed, outcomes, bad)


if __name__ == "__main__":
    sys.exit(main())
