"""NVIDIA's ``perf_analyzer`` as it is: percentiles of a closed loop, and rates of its windows."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from pathlib import Path

from bench.infrastructure.built_models import FOLDER
from bench.serving.payloads import Payload

ENVIRONMENT = FOLDER.parent / "peers" / "perf_analyzer"
_ENDS_S, _NS_PER_US = 300.0, 1000
_PASS = re.compile(r"Pass \[\d+\] throughput: ([\d.]+) infer/sec")


def perf_analyzer_missing(folder: Path = ENVIRONMENT) -> str | None:
    """Why it cannot be asked here; None where it can."""
    if not (folder / "bin" / "perf_analyzer").exists():
        return f"no perf_analyzer in {folder} (`make peers` fetches it)"
    done = _run(folder, ["--version"])
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:]
        return f"perf_analyzer does not start; is libb64-0d installed? {' '.join(said)}"
    return None


def closed_percentiles_ns(
    port: int, payload: Payload, clients: int, queries: int, folder: Path
) -> dict[str, float]:
    """Of the latencies of so many queries over gRPC, by name, as it writes them down.

    Raises
    ------
    RuntimeError
        If it fails; what it said.
    """
    table = folder / "perf_analyzer.csv"
    words = [*asking(port, "grpc", payload, clients), f"--request-count={queries}"]
    done = _run(ENVIRONMENT, [*words, "-f", str(table)])
    if done.returncode:
        said = " | ".join((done.stdout + done.stderr).splitlines()[-3:])
        raise RuntimeError(f"perf_analyzer failed: {said}")
    return table_percentiles_ns(table)


def table_percentiles_ns(path: Path) -> dict[str, float]:
    """Of the only row of its table."""
    with path.open(newline="") as file:
        (row,) = csv.DictReader(file)
    suffix = " latency"
    found = {name.removesuffix(suffix): text for name, text in row.items() if name[0] == "p"}
    return {name: float(text) * _NS_PER_US for name, text in found.items()}


def window_rates(
    port: int, protocol: str, payload: Payload, clients: int, windows: int
) -> list[float]:
    """Queries per second of each of its windows, until it calls them stable or has had so many.

    It calls them stable where neither rates nor latencies of three differ by more than 10 %.
    """
    words = [*asking(port, protocol, payload, clients), "-v", f"--max-trials={windows}"]
    done = _run(ENVIRONMENT, [*words, "--measurement-interval=1000"])
    return pass_rates(done.stdout)


def pass_rates(said: str) -> list[float]:
    """The rates of the windows in what it says."""
    return [float(rate) for rate in _PASS.findall(said)]


def asking(port: int, protocol: str, payload: Payload, clients: int) -> list[str]:
    """The words of a closed loop of so many clients over a protocol."""
    words = ["-m", payload.name, "-i", protocol, "-u", f"127.0.0.1:{port}"]
    for name, array in payload.inputs.items():
        words.append(f"--shape={name}:{','.join(map(str, array.shape))}")
    return [*words, f"--concurrency-range={clients}"]


def _run(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    libraries = folder / "nvidia" / "cuda_runtime" / "lib"
    given = os.environ | {"LD_LIBRARY_PATH": str(libraries)}
    command = [str(folder / "bin" / "perf_analyzer"), *words]
    return subprocess.run(
        command, env=given, capture_output=True, text=True, timeout=_ENDS_S, check=False
    )
