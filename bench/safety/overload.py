"""``python -m bench overload``: what a server answers when twenty times as much is asked as it can.

Starts ``engine serve`` of one model on one lane with a deadline (``--slo``), finds how many queries
it answers a second, before and after, and between asks 20 times as many for a minute. Shows the
answers of each quarter of that minute, what became of the others, and the memory that the process
held. Exits with 1 where those of the second half are less than nine tenths of the peak, or memory
grew.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bench.infrastructure import result_file
from bench.safety.attack_server import MIB, Attacked
from surplus.loadgen.address import parse_address
from surplus.loadgen.arrivals import poisson
from surplus.loadgen.clients.grpc_request import call_headers, framed, infer_request
from surplus.loadgen.clients.tensors import from_array
from surplus.loadgen.clock import NS_PER_S
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.native_load import NativeLoad, NativeTarget
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.record import OVERFLOW, Records

TIMES, PARTS = 20, 4
LEAST_SHARE, MOST_GROWTH_BYTES = 0.9, 64 * MIB
_ROWS, _WIDTH, _LAYERS = 64, 512, 12
_SLO = "250ms"
_TIMEOUT_NS = 10 * NS_PER_S
_WARM_UP_NS = 3 * NS_PER_S


def model() -> onnx.ModelProto:
    """``product``: some milliseconds of matrix products of a query of 2 kB."""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(
            generator.normal(0, _WIDTH**-0.5, (_WIDTH, _WIDTH)).astype(np.float32), f"w{layer}"
        )
        for layer in range(_LAYERS)
    ]
    rows = numpy_helper.from_array(np.array([_ROWS, _WIDTH], np.int64), "rows")
    names = [f"h{layer}" for layer in range(_LAYERS + 1)]
    nodes = [
        helper.make_node("MatMul", [names[layer], f"w{layer}"], [names[layer + 1]])
        for layer in range(_LAYERS)
    ]
    nodes.insert(0, helper.make_node("Expand", ["x", "rows"], [names[0]]))
    nodes.append(helper.make_node("ReduceMax", [names[-1]], ["y"], axes=[0]))
    x, y = (
        helper.make_tensor_value_info(port, onnx.TensorProto.FLOAT, [1, _WIDTH]) for port in "xy"
    )
    graph = helper.make_graph(nodes, "product", [x], [y], [rows, *weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Overload:
    """One server, asked for what it can, and for more.

    Parameters
    ----------
    seconds : float
        Of the overload; the peak is looked for half as long.
    """

    def __init__(self, server: Attacked, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        address = parse_address(server.target.grpc)
        x = from_array("x", np.ones((1, _WIDTH), np.float32))
        message = framed(infer_request("product", "", [x]))
        headers = call_headers(str(address), _TIMEOUT_NS)
        self._target = NativeTarget(address, [message], headers, _TIMEOUT_NS)

    def peak_per_s(self) -> float:
        """Answers a second where four queries are in flight at any time."""
        load = LoadgenParams(round(self._seconds / 2 * 1e9), warmup_ns=_WARM_UP_NS)
        records = NativeLoad(self._target, ClosedLoopParams(load, users=4)).run().measured()
        good = records.done_ns[records.kind == 0]
        return len(good) / float(good.max() - records.measure_from_ns) * 1e9

    def rows(self, peak_per_s: float) -> list[dict[str, Any]]:
        """A row for each quarter of the overload."""
        load = LoadgenParams(round(self._seconds * 1e9))
        offsets = poisson(TIMES * peak_per_s, np.random.default_rng(1))
        asked = NativeLoad(self._target, OpenLoopParams(load), offsets_ns=offsets)
        held = _Held(self._server)
        with held:
            records = asked.run()
        return [
            {**_row(records, part, self._seconds / PARTS), "most MiB": most}
            for part, most in enumerate(held.most_mib(PARTS))
        ]


def _row(records: Records, part: int, seconds: float) -> dict[str, Any]:
    """What was asked in that part, and what was answered in it."""
    begin_ns = records.measure_from_ns + round(part * seconds * 1e9)
    end_ns = begin_ns + round(seconds * 1e9)
    asked = (records.intended_ns >= begin_ns) & (records.intended_ns < end_ns)
    done = (records.done_ns >= begin_ns) & (records.done_ns < end_ns) & (records.kind == 0)
    others = Counter(records.kinds[kind - 1] for kind in records.kind[asked].tolist() if kind)
    return {
        "part": part + 1,
        "asked per s": round(float(asked.sum()) / seconds),
        "answered per s": round(float(done.sum()) / seconds, 1),
        "not sent": others.pop(OVERFLOW, 0),
        "others": ", ".join(f"{count} {kind}" for kind, count in sorted(others.items())),
    }


class _Held:
    """What a process holds, looked at twenty times a second."""

    def __init__(self, server: Attacked) -> None:
        self._server = server
        self._seen: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self._seen.append(self._server.resident_bytes)

    def most_mib(self, parts: int) -> list[int]:
        """The most of each part."""
        return [int(max(part, default=0)) // MIB for part in np.array_split(self._seen, parts)]


def faults(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is not as it should be."""
    half = rows[len(rows) // 2 :]
    share = sum(row["of the peak"] for row in half) / len(half)
    growth_bytes = (rows[-1]["most MiB"] - rows[0]["most MiB"]) * MIB
    found = []
    if share < LEAST_SHARE:
        found.append(f"answered {share:.0%} of the peak")
    if growth_bytes > MOST_GROWTH_BYTES:
        found.append(f"memory grew by {growth_bytes // MIB} MiB")
    return found


def run(seconds: float, folder: Path) -> tuple[float, list[dict[str, Any]]]:
    """The peak, in queries a second, and the rows."""
    words = ["--devices", "cpu:1", "--slo", f"product={_SLO}"]
    with Attacked(folder, "1GiB", words, [("product", model())]) as server:
        overload = Overload(server, seconds)
        before_per_s = overload.peak_per_s()
        rows = overload.rows(before_per_s)
        # What the machine's other programs leave is not the same all the time.
        peak_per_s = (before_per_s + overload.peak_per_s()) / 2
    for row in rows:
        row["of the peak"] = round(row["answered per s"] / peak_per_s, 3)
    return peak_per_s, rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench overload")
    parser.add_argument("--quick", action="store_true", help="six seconds, and nothing is stored")
    args = parser.parse_args(arguments)
    seconds = 6.0 if args.quick else 60.0
    if not args.quick and (changed := result_file.uncommitted()):
        parser.error(f"results say of which commit they are, and {changed[0]} is not committed")
    with tempfile.TemporaryDirectory() as folder:
        peak_per_s, rows = run(seconds, Path(folder))
    print(f"the peak: {peak_per_s:.1f} queries a second")
    result_file.show("overload", rows)
    if not args.quick:
        config = {"times": TIMES, "seconds": seconds, "peak_per_s": round(peak_per_s, 1)}
        result_file.write("overload", config, rows)
    found = faults(rows)
    print("; ".join(found) or "as it should be")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
