"""SIR+ (SYSTOR'22) Table 7 run on emulated GPUs: peak throughput on 1, 2 and 4 of them.

``sir_throughput`` says what plans let through; here they answer, in real time, beside ONNX
Runtime's way, the whole model in a process a GPU. All GPUs share the CPU's lanes, since what runs
there runs on this machine's cores. Needs a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.infrastructure import result_file
from bench.infrastructure.contender_process import ContenderProcess
from bench.infrastructure.resumable import Key, Row, Table, fill
from bench.sir.on_gpus import BEST, WHOLE
from bench.sir.throughput import GPUS

TABLE = "sir_throughput_live"
MODULE = "bench.sir.on_gpus"
EACH, ONE = "ONNX Runtime, a process a GPU", "one process"
SECONDS = 5.0


def measured(key: Key, lanes: int, seconds: float) -> Row:
    """One contender on so many GPUs; its processes answer at the same time."""
    model, gpus, contender = key
    count = int(gpus)
    words = (str(count), BEST) if contender == ONE else ("1", WHOLE)
    with contextlib.ExitStack() as stack:
        processes = []
        for _ in range(1 if contender == ONE else count):
            process = ContenderProcess(MODULE, model, str(lanes), *words)
            stack.callback(process.end)
            processes.append(process)
        with ThreadPoolExecutor(len(processes)) as pool:
            found = list(pool.map(lambda process: process.ask(seconds=seconds), processes))
        planned = sum(process.first["planned"] for process in processes)
        copies = sum(process.first["copies"] for process in processes)
    per_s = sum(row["per_s"] for row in found)
    return {
        "model": model,
        "GPUs": gpus,
        "contender": contender,
        "queries/s": per_s,
        "planned/s": planned,
        "measured/planned": per_s / planned,
        "copies": copies,
    }


def of_one(rows: Sequence[Row]) -> list[Row]:
    """The rows, each with how many times as many queries it answers as on one GPU."""
    ones = {(r["model"], r["contender"]): r["queries/s"] for r in rows if r["GPUs"] == GPUS[0]}
    return [{**r, "of one GPU's": r["queries/s"] / ones[r["model"], r["contender"]]} for r in rows]


def main() -> None:
    """Fill the table and show it."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--models", default="faster_rcnn,mask_rcnn,ssd", metavar="M,...", help="(%(default)s)")
    add("--lanes", type=int, default=1, metavar="N", help="of the CPU, for all (%(default)d)")
    add("--seconds", type=float, default=SECONDS, metavar="S", help="for each (%(default)g)")
    add("--anew", action="store_true", help="measure all again, not only what a stop left out")
    args = parser.parse_args()
    keys = [
        (model, gpus, contender)
        for model in args.models.split(",")
        for gpus in GPUS
        for contender in (EACH, ONE)
    ]
    config = {"models": args.models, "lanes": args.lanes, "seconds": args.seconds}
    table = Table(TABLE, config, ("model", "GPUs", "contender"), anew=args.anew)
    rows = fill(table, keys, lambda key: measured(key, args.lanes, args.seconds))
    result_file.show("Table 7 (EMULATED GPUs, derived profile)", of_one(rows))


if __name__ == "__main__":
    main()
