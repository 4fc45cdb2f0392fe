"""``loadgen mlperf``: MLPerf's scenarios, judged by MLCommons' own LoadGen."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from surplus.loadgen.clock import precise_loop
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.library import check_logs, mlperf_missing
from surplus.loadgen.mlperf.params import SCENARIOS, MlperfParams
from surplus.loadgen.mlperf.result import MlperfResult, mlperf_document, mlperf_rows
from surplus.loadgen.mlperf.run import run_mlperf
from surplus.loadgen.verbs.contradictions import check_options
from surplus.loadgen.verbs.options import (
    add_target_options,
    asked_models,
    bad_options,
    transport,
    url,
)
from surplus.loadgen.verbs.run import check_file
from surplus.loadgen.verbs.scenario import apply_scenario

_INTERRUPTED = 130


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("mlperf", help="MLPerf's scenarios, by MLCommons' LoadGen")
    add = parser.add_argument
    add("kind", choices=list(SCENARIOS), help="which of the scenarios")
    add_target_options(parser)
    add("--rate", type=float, help="queries per second: of server, and expected of offline")
    add("--slo", help="the target of server: how long queries may take, as 50ms")
    add("--percentile", type=float, help="that is judged (single-stream 90, the others 99)")
    add("--samples", type=int, help="of a query of multi-stream (8)")
    add("--duration", default="10s", help="least time (%(default)s; a submission's is 10m)")
    add("--count", type=int, default=1, help="least number of queries (%(default)s)")
    add("--warmup", default="1s", help="one user before LoadGen begins (%(default)s)")
    add("--max-outstanding", type=int, default=256, help="samples in flight (%(default)s)")
    add("--logs", type=Path, metavar="DIR", help="where LoadGen's logs are kept")
    add("--json", metavar="FILE|-", help="write the result; - prints only JSON")
    parser.set_defaults(do=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    with bad_options():
        arguments = apply_scenario(parser, arguments)
        check_options(arguments)
        mlperf, params = _mlperf_params(arguments), _measure_params(arguments)
        warmup_ns = parse_duration_ns(arguments.warmup)
    if reason := mlperf_missing():
        raise LoadgenError(reason)
    check_file(arguments.json)
    with _logs(arguments.logs) as folder, asyncio.Runner(loop_factory=precise_loop) as runner:
        running = run_mlperf(params, mlperf, warmup_ns, folder, Console(stderr=True))
        try:
            result = runner.run(running)
        except KeyboardInterrupt:
            _end_now(folder if arguments.logs is None else None)
    _report(result, params, mlperf, arguments.json)
    return 0 if result.is_valid else 1


def _mlperf_params(arguments: argparse.Namespace) -> MlperfParams:
    return MlperfParams(
        arguments.kind,
        parse_duration_ns(arguments.duration),
        arguments.count,
        arguments.rate,
        None if arguments.slo is None else parse_duration_ns(arguments.slo),
        arguments.percentile,
        arguments.samples,
        arguments.max_outstanding,
        arguments.seed,
    )


def _measure_params(arguments: argparse.Namespace) -> MeasureParams:
    models = asked_models(arguments)
    if len(models) > 1:
        raise ValueError("LoadGen draws samples, not models: name one --model")
    if arguments.threads > 1:
        raise ValueError("LoadGen's queries leave from one thread: it has no --threads")
    if arguments.client == "python" or arguments.tls_ca:
        raise ValueError("LoadGen's queries go by the native client alone, without TLS")
    loop = ClosedLoopParams(users=arguments.max_outstanding)
    how = transport(arguments)
    return MeasureParams(url(arguments), models, loop, None, arguments.seed, how)


@contextmanager
def _logs(folder: Path | None) -> Iterator[Path]:
    """A folder that LoadGen can write to; for the time of the run, if none is named."""
    if folder is not None:
        check_logs(folder)
        yield folder
        return
    with TemporaryDirectory(prefix="loadgen-") as made:
        yield Path(made)


def _end_now(made: Path | None) -> NoReturn:
    """LoadGen cannot be stopped: its thread would hold up an orderly end."""
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)
    print("loadgen: interrupted", file=sys.stderr, flush=True)
    os._exit(_INTERRUPTED)


def _report(
    result: MlperfResult, params: MeasureParams, mlperf: MlperfParams, json_path: str | None
) -> None:
    text = json.dumps(mlperf_document(result, params, mlperf), indent=1)
    if json_path == "-":
        print(text)
        return
    title = Text(f"{params.title}, {mlperf.scenario}")
    table = Table(title=title, title_justify="left", show_header=False)
    for what, figure in mlperf_rows(result, mlperf).items():
        table.add_row(Text(what), Text(figure))
    Console().print(table)
    if json_path is not None:
        Path(json_path).write_text(text + "\n")
