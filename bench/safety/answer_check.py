"""``python -m bench answer_check``: how much of a load goes to comparing plans' answers.

Each load is a process of its own with an empty cache, from ``surplus.load`` with ``tune="now"`` to
the model. Within it the calls are timed that compare a plan with the whole model in one session.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from bench.models.fresh_load import load_figures
from surplus import models

_TIME = """
import surplus.engine.pipeline.making
from surplus.engine.planning.answer_check import AnswerCheck
spent, accepts = [], AnswerCheck.accepts
def timed(check, model):
    begin = time.perf_counter_ns()
    try:
        return accepts(check, model)
    finally:
        spent.append(time.perf_counter_ns() - begin)
AnswerCheck.accepts = timed
"""


def load_ns(path: Path, name: str) -> tuple[int, int, int]:
    """Of one load: all of it, what the comparisons took, and how many plans were compared."""
    report = "print(loaded - before, sum(spent), len(spent))"
    with tempfile.TemporaryDirectory() as cache:
        load, spent, plans = load_figures(path, Path(cache), name, _TIME, report)
    return load, spent, plans


def main() -> int:
    """Print medians in ms, and the share of the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("models", nargs="*", default=["squeezenet", "resnet50", "faster_rcnn"])
    args = parser.parse_args()
    for name in args.models:
        with tempfile.TemporaryDirectory() as folder:
            path = models.save(models.build(name), Path(folder) / f"{name}.onnx")
            found = [load_ns(path, name) for _ in range(args.rounds)]
        load, spent = (statistics.median(row[at] for row in found) / 1e6 for at in (0, 1))
        share = statistics.median(row[1] / row[0] for row in found)
        print(
            f"{name}: loaded in {load:.0f} ms, of which {spent:.0f} ms ({share:.1%}) compare"
            f" {found[0][2]} plans",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
