"""An ideal that no scheduler of whole models reaches: kernels, preempted and resized at will.

References
----------
D-STACK (TCC'24), section 6.B, equations 13 and 14: time in slots; in each, of the next kernels of
all models, the set with the largest sum of shares that fits the device, found by trying all sets;
of equals the one with the earliest deadlines. Models are saturated: the next inference is there
when one ends, due one period after it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class KernelChain:
    """The kernels of one model.

    Parameters
    ----------
    name : str
    kernels : tuple of (int, int)
        Share in percent, and slots that it takes on that share; one after the other.
    period_slots : int
        From the beginning of an inference to its deadline.

    Raises
    ------
    ValueError
        If there are no kernels, or one is wider than the device or takes no time.
    """

    name: str
    kernels: tuple[tuple[int, int], ...]
    period_slots: int

    def __post_init__(self) -> None:
        if not self.kernels or self.period_slots < 1:
            raise ValueError(f"{self.name!r}: kernels and a period are needed")
        for share_percent, slots in self.kernels:
            if not 1 <= share_percent <= 100 or slots < 1:
                text = f"a kernel of {share_percent} % and {slots} slots"
                raise ValueError(f"{self.name!r}: {text}")

    @property
    def slots(self) -> tuple[int, ...]:
        """Share that an inference holds in each of its slots."""
        return tuple(share for share, slots in self.kernels for _ in range(slots))


@dataclass(frozen=True)
class IdealSchedule:
    """What became of it.

    Parameters
    ----------
    utilisation : float
        Mean share in use.
    inferences : tuple of float
        By model, with the part of the last one that was done.
    chosen : tuple of frozenset of int
        Models that ran, by slot.
    """

    utilisation: float
    inferences: tuple[float, ...]
    chosen: tuple[frozenset[int], ...]


def ideal_schedule(chains: Sequence[KernelChain], slots: int) -> IdealSchedule:
    """Schedule so many slots; exponential in the models, of which there are few."""
    shares = [chain.slots for chain in chains]
    done = [0] * len(chains)
    due = [chain.period_slots for chain in chains]
    sets = [
        subset
        for size in range(len(chains) + 1)
        for subset in combinations(range(len(chains)), size)
    ]
    used = 0
    chosen = []
    for now in range(slots):
        wanted = [own[count % len(own)] for own, count in zip(shares, done, strict=True)]
        best = max(sets, key=lambda subset: _rank(subset, wanted, due))
        used += sum(wanted[k] for k in best)
        chosen.append(frozenset(best))
        for k in best:
            done[k] += 1
            if done[k] % len(shares[k]) == 0:
                due[k] = now + 1 + chains[k].period_slots
    inferences = tuple(count / len(own) for count, own in zip(done, shares, strict=True))
    return IdealSchedule(used / (100 * slots), inferences, tuple(chosen))


def _rank(
    subset: tuple[int, ...], wanted: Sequence[int], due: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Share in use, then how early the deadlines are; what does not fit comes last."""
    used = sum(wanted[k] for k in subset)
    if used > 100:
        return -1, ()
    return used, tuple(-due[k] for k in sorted(subset, key=lambda k: due[k]))
