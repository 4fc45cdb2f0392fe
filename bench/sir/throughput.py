"""SIR+ (SYSTOR'22) Table 7: peak throughput of the detectors on 1, 2 and 4 GPUs.

On the profiles of bench/profiles: the CPU's times measured, the GPU's derived. ``ONNX Runtime`` is
the whole model in one session a GPU, and ``a process a GPU`` the best plan of one GPU and its part
of the CPU's lanes, as the paper runs instances; ``one process`` has all GPUs and all lanes and says
itself how often its plan is there. Queries a second are those of periodic schedules, which attain
what their busiest resource lets through; nothing is measured. The paper's are of a Titan RTX (PF1)
and four GPUs (PF2).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bench.infrastructure import result_file
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.sir.several_gpus import best, costs_on, whole_on_a_gpu

TABLE = "sir_throughput"
GPUS = ("1", "2", "4")
WHOLE, EACH, ONE = "ONNX Runtime", "a process a GPU", "one process"
CONTENDERS = (WHOLE, EACH, ONE)
PAPER_PER_S = {
    ("faster_rcnn", WHOLE): (17.6, 34.9, 69.6),
    ("faster_rcnn", EACH): (19.5, 38.4, 77.3),
    ("mask_rcnn", WHOLE): (16.0, 31.6, 63.4),
    ("mask_rcnn", EACH): (17.9, 35.3, 70.6),
    ("ssd", WHOLE): (18.8, 37.8, 75.6),
    ("ssd", EACH): (23.9, 46.8, 94.2),
}
"""On PF2, by model and contender: on 1, 2 and 4 GPUs."""


def measured(key: Key, lanes: int, table: Table) -> Row:
    """One contender on so many GPUs, with ``lanes`` of the CPU for each."""
    model, gpus, contender = key
    count = int(gpus)
    if contender == ONE:
        costs = costs_on(model, lanes * count, count)
        found, times = best(model, costs), 1
    else:
        costs = costs_on(model, lanes, 1)
        found = (whole_on_a_gpu if contender == WHOLE else best)(model, costs)
        times = count
    per_s = times * found.per_s
    paper = PAPER_PER_S.get((model, contender))
    on_one = [r["queries/s"] for r in table.rows if table.key_of(r) == (model, "1", contender)]
    return {
        "model": model,
        "GPUs": gpus,
        "contender": contender,
        "queries/s": per_s,
        "of one GPU's": per_s / (on_one[0] if on_one else per_s),
        "copies": times * found.copies,
        "busiest": found.busiest,
        "segments": len(found.plans[0].segments),
        "paper/s (PF2)": "-" if paper is None else paper[GPUS.index(gpus)],
        "paper, of one GPU's": "-" if paper is None else paper[GPUS.index(gpus)] / paper[0],
    }


def rows(table: Table, keys: Sequence[Key], lanes: int) -> list[Row]:
    """Those that are missing; of one GPU first, which others are compared with."""
    return fill(table, keys, lambda key: measured(key, lanes, table))


def main() -> None:
    """Fill the table and show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="faster_rcnn,mask_rcnn,ssd", metavar="M,...", help="(%(default)s)")
    add("--lanes", type=int, default=1, metavar="N", help="of the CPU for each GPU (%(default)d)")
    add("--anew", action="store_true", help="find all again, not only what a stop left out")
    args = parser.parse_args()
    keys = [
        (model, gpus, contender)
        for model in args.models.split(",")
        for gpus in GPUS
        for contender in CONTENDERS
    ]
    config = {"models": args.models, "lanes a GPU": args.lanes}
    table = Table(TABLE, config, ("model", "GPUs", "contender"), anew=args.anew)
    found = rows(table, keys, args.lanes)
    result_file.show("Table 7 (simulated, derived GPU profile)", found)


if __name__ == "__main__":
    main()
