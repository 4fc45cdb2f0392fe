"""MLCommons' LoadGen itself: a library of C++ that sends nothing and judges everything."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.mlperf.asking import Asking, Ended
from surplus.loadgen.mlperf.params import MODES, NS_PER_MS, SCENARIOS, MlperfParams
from surplus.loadgen.targets.feed import Feeding

_NO_AUDIT = ""
"""LoadGen would read an audit.config of the folder that it happens to be started in."""


def mlperf_missing() -> str | None:
    """Why there is no LoadGen; None where there is."""
    try:
        import_module("mlperf_loadgen")
    except ImportError:
        return "MLPerf's scenarios need LoadGen (pip install 'surplus-engine[mlperf]')"
    return None


def loadgen_version() -> str:
    """Of the package."""
    return version("mlcommons-loadgen")


def tell_loadgen(ended: Sequence[Ended]) -> None:
    """These samples have their answers, which LoadGen logs in accuracy mode, and does not judge."""
    library = import_module("mlperf_loadgen")
    data = [array("B", answer) for _, answer in ended]  # LoadGen copies what lies there
    rows = zip(ended, data, strict=True)
    library.QuerySamplesComplete(
        [library.QuerySampleResponse(sample, *lies.buffer_info()) for (sample, _), lies in rows]
    )


def run_loadgen(
    feed: Feeding, asking: Asking, params: MlperfParams, expected_ns: int, folder: Path
) -> None:
    """Run a scenario in the calling thread; its logs lie in the folder then.

    LoadGen ends the whole process where it cannot write them, and cannot be stopped.

    Parameters
    ----------
    expected_ns : int
        The least that a query takes. LoadGen makes the queries of streams ahead, twice as many as
        that gives, and a run for which they do not last is not valid.
    """
    library = import_module("mlperf_loadgen")
    answering = threading.Thread(target=asking.answer, name="loadgen-answers")
    system = library.ConstructSUT(asking.issue, _nothing)
    samples = library.ConstructQSL(feed.requests, feed.requests, _nothing, _nothing)
    try:
        with feed:
            answering.start()
            settings, logs = _settings(library, params, expected_ns), _logs(library, folder)
            library.StartTestWithLogSettings(system, samples, settings, logs, _NO_AUDIT)
            feed.finish()
            answering.join()
    finally:
        library.DestroyQSL(samples)
        library.DestroySUT(system)


def _settings(library: Any, params: MlperfParams, expected_ns: int) -> Any:
    settings = library.TestSettings()
    settings.scenario = getattr(library.TestScenario, SCENARIOS[params.scenario])
    settings.mode = getattr(library.TestMode, MODES[params.mode])
    settings.min_duration_ms = -(-params.duration_ns // NS_PER_MS)
    settings.min_query_count = params.least_queries
    settings.multi_stream_samples_per_query = params.samples_per_query
    for stream in ("single_stream", "multi_stream"):
        setattr(settings, f"{stream}_expected_latency_ns", expected_ns)
    if params.rate_per_s is not None:
        settings.server_target_qps = settings.offline_expected_qps = params.rate_per_s
    if params.target_ns is not None:
        settings.server_target_latency_ns = params.target_ns
    if (percentile := params.judged_percentile) is not None:
        for scenario in ("single_stream", "multi_stream", "server"):
            setattr(settings, f"{scenario}_target_latency_percentile", percentile / 100)
    for name in ("qsl", "sample_index", "schedule"):
        setattr(settings, f"{name}_rng_seed", params.seed)
    return settings


def _logs(library: Any, folder: Path) -> Any:
    output = library.LogOutputSettings()
    output.outdir = str(folder)
    logs = library.LogSettings()
    logs.log_output = output
    logs.enable_trace = False
    return logs


def check_logs(folder: Path) -> None:
    """Make the folder for LoadGen's logs, which it does not.

    Raises
    ------
    LoadgenError
        If it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mlperf_log_detail.txt").write_bytes(b"")
    except OSError as error:
        raise LoadgenError(f"{folder}: cannot be written: {error.strerror}") from error


def _nothing(*_: object) -> None:
    """Of samples that lie ready, and of queries that leave at once."""
