"""Whose kernels the segments of a plan run with: those that are measured to be faster.

The plan that was chosen with ONNX Runtime's kernels, and the best others, run again with a
library's in every segment that it takes; then with those of each segment that took less in place;
then with one segment's swapped. What is not shown to save a few percent, on a machine that is
quiet, changes nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from surplus.engine.contest.conditions import Conditions, Watching
from surplus.engine.contest.contest import Clock, Contest, ContestParams, ContestTurn
from surplus.engine.contest.in_place import typical
from surplus.engine.contest.selection import ModelContender
from surplus.engine.kernels.registry import LIBRARIES
from surplus.engine.planning.kernel_memory import kernel_bytes, within
from surplus.engine.planning.kernel_segments import KernelSegments, with_kernels
from surplus.engine.profiling.disturbance import Watch
from surplus.engine.profiling.intervals import Verdict
from surplus.engine.segmentation.groups import GroupGraph
from surplus.engine.segmentation.plan import Plan, SegmentKernels
from surplus.engine.segmentation.service import ServiceTimes
from surplus.placement.timeline import SpanKind

_log = logging.getLogger(__name__)

_LEAST_GAIN = 0.03
"""Another library costs memory and other bits: less than this share of the time is not worth it."""

_OTHERS = 2
_MAY_BE_BEST = 1.5
_MOST_SEGMENTS = 64
"""How many plans are run with a library's kernels beside the one that was chosen, how much longer
these may take with ONNX Runtime's, and of how many segments: to compile takes most of the time."""

_DUEL = 2
"""Times the time of a contest to show that the best of it is faster, where that was left open."""

_SWAPS = 3
"""Segments, the longest ones, of which each is tried with the other kernels."""

_LEAST_QUERIES = ContestParams.least_rounds + 2

Build = Callable[[Plan], ModelContender | None]


@dataclass(frozen=True)
class Shown:
    """A plan that was run: its segments' groups, their times, its turns."""

    contender: ModelContender
    groups: GroupGraph
    service: ServiceTimes
    turns: Sequence[ContestTurn]

    @property
    def plan(self) -> Plan:
        """What it runs."""
        return self.contender.model.plan

    @property
    def wall_ns(self) -> int:
        """Time of a query."""
        return typical(self.turns).wall_ns

    def segments_ns(self) -> dict[int, float]:
        """Time of each segment in place, by its place in the plan."""
        turn = typical(self.turns)
        spans = [span for span in turn.timeline if span.kind is SpanKind.SEGMENT]
        return {span.index: span.duration_ns * turn.pace for span in spans}


@dataclass(frozen=True)
class KernelRound:
    """Plans that were compared; the first one was the one to beat.

    Parameters
    ----------
    taken : int, optional
        Who is taken in the place of the winner.
    """

    contest: Contest
    entrants: Sequence[Shown]
    taken: int | None = None

    @property
    def winner(self) -> int:
        """Who was shown to be faster, by enough; else the first one; or who was taken."""
        if self.taken is not None:
            return self.taken
        index = self.contest.winner
        return index if self.contest.against(index, 0).median <= 1 - _LEAST_GAIN else 0

    @property
    def best(self) -> Shown:
        """That one."""
        return self.entrants[self.winner]


@dataclass(frozen=True)
class KernelLook:
    """How to look for better kernels for one model.

    Parameters
    ----------
    segments : sequence of KernelSegments
        One for each library.
    build : callable
        Opens a plan; None if it is refused, or answers wrongly.
    lanes : int
        Of the CPU.
    memory_bytes : int
        What weights of libraries may take.
    time_ns : int
        Most time for each contest, three rounds apart.
    watch : callable
        Begins to watch the machine.
    """

    segments: Sequence[KernelSegments]
    build: Build
    lanes: int
    memory_bytes: int
    time_ns: int
    clock: Clock = time.monotonic_ns
    watch: Callable[[], Watching | None] = Watch

    def better(
        self, chosen: Shown, others: Sequence[Shown], around: Sequence[Shown] = ()
    ) -> KernelRound | None:
        """The last contest that a plan with other kernels has won; None if none has.

        Parameters
        ----------
        others : sequence of Shown
            What was compared with the chosen plan, the best first.
        around : sequence of Shown
            Whole models that are cut for the libraries (library_cut.py), which have not run.
        """
        bases = [chosen, *self._affordable(chosen, others)]
        first = self._compared(chosen, self._variants([*bases, *around]))
        won = self._simplest(first) if first.winner else self._duel(first)
        mixtures = [m for base in bases for m in self._mixtures(base, first.entrants[1:])]
        won = self._improved(won, mixtures)
        won = self._improved(won, self._swaps(won.best))
        return won if won.best.plan.libraries else None

    def forced(self, chosen: Shown, around: Sequence[Shown] = ()) -> KernelRound | None:
        """The chosen plan with a library's kernels, even if slower; None if it takes none.

        Where it takes none, one of those that are cut for it.
        """
        found = self._variants([chosen]) or self._variants(around)
        return self._compared(found[0], []) if found else None

    def _affordable(self, chosen: Shown, others: Sequence[Shown]) -> list[Shown]:
        """Those whose least rounds fit in twice the time."""
        left_ns = 2 * self.time_ns - _LEAST_QUERIES * chosen.wall_ns
        found = []
        for other in others:
            left_ns -= _LEAST_QUERIES * other.wall_ns
            is_small = len(other.plan.segments) <= _MOST_SEGMENTS
            if left_ns >= 0 and is_small and other.wall_ns <= _MAY_BE_BEST * chosen.wall_ns:
                found.append(other)
        return found[:_OTHERS]

    def _variants(self, bases: Iterable[Shown]) -> list[Shown]:
        """Each base with each library in every segment that it takes."""
        found = []
        for tried in self.segments:
            for base in bases:
                kernels = tried.of(base.plan, self.lanes)
                found += self._opened(base, kernels)
        return found

    def _opened(self, base: Shown, kernels: Mapping[int, SegmentKernels]) -> list[Shown]:
        """The base with these kernels, if they fit into the memory and answer rightly."""
        if not kernels:
            return []
        plan = with_kernels(base.plan, kernels, _name(base.plan, kernels))
        fitting = within(plan, self.memory_bytes)
        if fitting is None:
            _log.info(
                "%s is not used: its weights take %d bytes, more than the limit of %d",
                plan.name,
                kernel_bytes(plan),
                self.memory_bytes,
            )
            return []
        contender = self.build(fitting)
        return [] if contender is None else [replace(base, contender=contender, turns=())]

    def _compared(self, best: Shown, challengers: Sequence[Shown], times: int = 1) -> KernelRound:
        entrants = [best, *challengers]
        contest = Contest(
            [entrant.contender for entrant in entrants],
            1,
            ContestParams(min_gain=_LEAST_GAIN),
            self.clock,
            Conditions(self.watch(), fallback=0),
        )
        if challengers or not best.turns:
            contest.play(self.clock() + times * self.time_ns)
        for index, entrant in enumerate(challengers, 1):
            median = contest.against(index, 0).median
            _log.info("%s: measured %.3f of %s", entrant.plan.name, median, best.plan.name)
        shown = [
            replace(entrant, turns=contest.turns(i) or entrant.turns)
            for i, entrant in enumerate(entrants)
        ]
        return KernelRound(contest, shown)

    def _duel(self, undecided: KernelRound) -> KernelRound:
        """The first one and who may be faster, alone and for longer."""
        contest = undecided.contest
        ratios = {i: contest.against(i, 0).median for i in range(1, len(undecided.entrants))}
        likely = min(ratios, key=lambda i: ratios[i], default=0)
        if ratios.get(likely, 1.0) > 1 - _LEAST_GAIN:
            return undecided
        return self._compared(undecided.entrants[0], [undecided.entrants[likely]], _DUEL)

    def _simplest(self, won: KernelRound) -> KernelRound:
        """Of those that are faster the one of the fewest segments, unless the winner is shown to
        be faster than that one, too: of several, the luckiest comes first.
        """
        faster = [
            entrant
            for i, entrant in enumerate(won.entrants)
            if i and won.contest.verdict(i, 0) is Verdict.FASTER
        ]
        simple = min(faster, key=lambda entrant: len(entrant.plan.segments))
        if len(simple.plan.segments) == len(won.best.plan.segments):
            return won
        again = self._compared(simple, [won.best])
        return won if again.winner else replace(won, taken=won.entrants.index(simple))

    def _improved(self, won: KernelRound, challengers: Sequence[Shown]) -> KernelRound:
        if not challengers:
            return won
        again = self._compared(won.best, challengers)
        return again if again.winner else won

    def _mixtures(self, base: Shown, variants: Sequence[Shown]) -> list[Shown]:
        """Of each segment the kernels that took less; nothing where that is one library's all."""
        found = []
        plain_ns = base.segments_ns()
        for variant in variants:
            if variant.groups is not base.groups or len(base.plan.segments) < 2:
                continue
            other_ns = variant.segments_ns() if variant.turns else {}
            kernels = kernels_of(variant.plan)
            less = {i: k for i, k in kernels.items() if other_ns.get(i, 0) < plain_ns.get(i, 0)}
            if less and len(less) < len(kernels):
                found += self._opened(base, less)
        return found

    def _swaps(self, best: Shown) -> list[Shown]:
        """The best plan with one of its longest segments run by the other kernels."""
        if len(best.plan.segments) < 2:
            return []
        chosen = kernels_of(best.plan)
        times_ns = best.segments_ns()
        longest = sorted(times_ns, key=lambda i: -times_ns[i])[:_SWAPS]
        found = []
        for tried in self.segments:
            able = tried.of(best.plan, self.lanes)
            for index in longest:
                if index in chosen:
                    swapped = {i: k for i, k in chosen.items() if i != index}
                elif index in able:
                    swapped = {**chosen, index: able[index]}
                else:
                    continue
                found += self._opened(best, swapped)
        return found


def kernels_of(plan: Plan) -> dict[int, SegmentKernels]:
    """Of its segments that run with a library's, by their place."""
    return {i: s.kernels for i, s in enumerate(plan.segments) if s.kernels}


def _name(plan: Plan, kernels: Mapping[int, SegmentKernels]) -> str:
    titles = sorted({LIBRARIES[k.library].title for k in kernels.values()})
    share = "" if len(kernels) == len(plan.segments) else f" {len(kernels)}/{len(plan.segments)}"
    return f"{plan.name.partition(' with ')[0]} with {', '.join(titles)}{share}"
