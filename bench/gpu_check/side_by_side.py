"""Contenders in turns within a time limit, and how the first compares with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence

from bench.gpu_check.contender import Contender
from bench.infrastructure.timing import interleaved

_FEWEST_ROUNDS = 25


def side_by_side(
    contenders: Sequence[Contender], budget_s: float
) -> tuple[float, dict[str, float]]:
    """Latency of one query at a time.

    Parameters
    ----------
    contenders : sequence of Contender
        The first is compared with those that the bars are about.

    Returns
    -------
    float
        The first one's time over that of the strongest of the others: the median of the ratios
        within rounds.
    dict of str to float
        Median milliseconds of each.
    """
    runs = {contender.name: contender.run for contender in contenders}
    times = interleaved(runs, _FEWEST_ROUNDS, budget_ns=round(budget_s / 2 * 1e9))
    ours = times[contenders[0].name]
    ratio = max(ours.ratio_to(times[c.name]) for c in contenders if c.is_bar)
    return ratio, {name: found.median_ns / 1e6 for name, found in times.items()}
