"""What is done to a deployment while it is asked: a function each, and how long that takes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bench.chaos.back_again import back_after_s
from bench.chaos.setting import NARROW
from bench.chaos.stage import ChaosStage, NodeRow

_PART = 0.8
"""Of a deed's time in which it is done; behind it all is as before."""


@dataclass
class Course:
    """Of one deed.

    Parameters
    ----------
    seconds : float
        That it may take.

    Attributes
    ----------
    done : int
        How often it was done.
    back_s : list of float
        How long each server that was hit took to answer again at its address.
    """

    seconds: float
    done: int = 0
    back_s: list[float] = field(default_factory=list)
    _begin_s: float = field(default_factory=time.monotonic)

    def goes_on(self) -> bool:
        """Whether there is time to do it once more; the first time there is."""
        if self.done and time.monotonic() - self._begin_s >= _PART * self.seconds:
            return False
        self.done += 1
        return True

    def rest(self, part: float) -> None:
        """Let a part of the time pass."""
        time.sleep(part * self.seconds)


Deed = Callable[[ChaosStage, Course], None]


def _await(stage: ChaosStage, row: NodeRow, course: Course) -> None:
    """Until a node's server answers again, if it is still to serve something."""
    after_s = back_after_s(row["http"], row["models"], lambda: stage.is_planned(row))
    if after_s is not None:
        course.back_s.append(after_s)


def nothing(stage: ChaosStage, course: Course) -> None:
    """For comparison."""


def kill(stage: ChaosStage, course: Course) -> None:
    """Servers by SIGKILL, one after the other."""
    while course.goes_on():
        row = stage.choose()
        stage.signal(row, signal.SIGKILL)
        _await(stage, row, course)
        course.rest(0.05)


def kill_again(stage: ChaosStage, course: Course) -> None:
    """The same server by SIGKILL as soon as it serves again, three times in a row."""
    row = stage.choose()
    for _ in range(3):
        course.done += 1
        stage.signal(row, signal.SIGKILL)
        _await(stage, row, course)


def freeze(stage: ChaosStage, course: Course) -> None:
    """A server by SIGSTOP, until it is let go on."""
    while course.goes_on():
        row = stage.choose()
        stage.signal(row, signal.SIGSTOP)
        course.rest(0.15)
        stage.signal(row, signal.SIGCONT)
        course.rest(0.1)


def hang(stage: ChaosStage, course: Course) -> None:
    """A server by SIGSTOP for good: its agent ends it after 20 s."""
    course.done += 1
    row = stage.choose(NARROW)
    stage.signal(row, signal.SIGSTOP)
    _await(stage, row, course)


def lose(stage: ChaosStage, course: Course) -> None:
    """A node, as by a loss of power; it is back later."""
    course.done += 1
    row = stage.choose(NARROW)
    stage.node(row).lose(stage.pid(row))
    course.rest(_PART)
    stage.node(row).restore()


def roll(stage: ChaosStage, course: Course) -> None:
    """Another version, and back."""
    while course.goes_on():
        stage.setting.roll()
        stage.wait_for(stage.aims_at_version, "the other version to be noticed")
        stage.settle()


def renew(stage: ChaosStage, course: Course) -> None:
    """Other options of servers: each gives its place to another one."""
    course.done += 1
    before = {row["http"] for row in stage.in_use()}
    stage.setting.renew()
    stage.wait_for(
        lambda: before.isdisjoint(row["http"] for row in stage.in_use()), "servers with others"
    )
    stage.settle()


def _cut(stage: ChaosStage, course: Course, *, there: bool, back: bool) -> None:
    while course.goes_on():
        row: NodeRow = stage.choose()
        stage.node(row).cut_off(there=there, back=back)
        course.rest(0.15)
        stage.node(row).restore()
        course.rest(0.1)


def cut_there(stage: ChaosStage, course: Course) -> None:
    """The network to a server: it hears nobody, and may be heard."""
    _cut(stage, course, there=True, back=False)


def cut_back(stage: ChaosStage, course: Course) -> None:
    """The network from a server: it hears all, and answers in vain."""
    _cut(stage, course, there=False, back=True)


def cut_off(stage: ChaosStage, course: Course) -> None:
    """The network to and from a server."""
    _cut(stage, course, there=True, back=True)


DEEDS: dict[str, Deed] = {
    "nothing": nothing,
    "kill": kill,
    "kill again": kill_again,
    "freeze": freeze,
    "hang": hang,
    "lose a node": lose,
    "roll versions": roll,
    "renew options": renew,
    "cut there": cut_there,
    "cut back": cut_back,
    "cut off": cut_off,
}
NETWORKED = frozenset({"cut there", "cut back", "cut off"})
"""What needs networks of nodes' own."""
