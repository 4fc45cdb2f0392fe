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
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.answers import Answers
from surplus.loadgen.mlperf.expected import read_expected
from surplus.loadgen.mlperf.library import check_logs, mlperf_missing
from surplus.loadgen.mlperf.params import MlperfParams
from surplus.loadgen.mlperf.result import MlperfResult, mlperf_document, with_agreement
from surplus.loadgen.mlperf.run import run_mlperf
from surplus.loadgen.mlperf.table import mlperf_rows
from surplus.loadgen.verbs.contradictions import check_options
from surplus.loadgen.verbs.mlperf_options import (
    add_mlperf_options,
    measure_params,
    mlperf_params,
)
from surplus.loadgen.verbs.options import bad_options
from surplus.loadgen.verbs.run import check_file
from surplus.loadgen.verbs.scenario import apply_scenario

_INTERRUPTED = 130


def add_parser(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("mlperf", help="MLPerf's scenarios, by MLCommons' LoadGen")
    add_mlperf_options(parser)
    parser.set_defaults(do=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    with bad_options():
        arguments = apply_scenario(parser, arguments)
        check_options(arguments)
        mlperf, params = mlperf_params(arguments), measure_params(arguments)
        warmup_ns = parse_duration_ns(arguments.warmup)
    if reason := mlperf_missing():
        raise LoadgenError(reason)
    for path in (arguments.json, arguments.answers):
        check_file(path)
    answers = _answers(arguments.expect) if mlperf.is_for_accuracy else None
    with _logs(arguments.logs) as folder, asyncio.Runner(loop_factory=precise_loop) as runner:
        console = Console(stderr=True)
        running = run_mlperf(params, mlperf, warmup_ns, folder, console, answers)
        try:
            result = runner.run(running)
        except KeyboardInterrupt:
            _end_now(_INTERRUPTED, "interrupted", made=folder if arguments.logs is None else None)
        if not result.is_complete:
            _report(result, params, mlperf, arguments.json)
            said = f"{result.reasons[0]}; what was measured until then is not complete"
            _end_now(1, said, made=folder if arguments.logs is None else None)
    if answers is not None:
        result = with_agreement(result, answers.agreement())
    _report(result, params, mlperf, arguments.json)
    if answers is not None and arguments.answers is not None:
        answers.write(arguments.answers, round(result.figures["samples"]))
    return 0 if result.is_valid else 1


def _answers(expected: Path | None) -> Answers:
    return Answers(None if expected is None else read_expected(expected))


@contextmanager
def _logs(folder: Path | None) -> Iterator[Path]:
    """A folder that LoadGen can write to; for the time of the run, if none is named."""
    if folder is not None:
        check_logs(folder)
        yield folder
        return
    with TemporaryDirectory(prefix="loadgen-") as made:
        yield Path(made)


def _end_now(status: int, said: str, made: Path | None) -> NoReturn:
    """LoadGen cannot be stopped: its thread would hold up an orderly end."""
    if made is not None:
        shutil.rmtree(made, ignore_errors=True)
    sys.stdout.flush()
    print(f"loadgen: {said}", file=sys.stderr, flush=True)
    os._exit(status)


def _report(
    result: MlperfResult, params: MeasureParams, mlperf: MlperfParams, json_path: str | None
) -> None:
    text = json.dumps(mlperf_document(result, params, mlperf), indent=1)
    if json_path == "-":
        print(text)
        return
    title = Text(f"{params.title}, {mlperf.scenario}" + ", accuracy" * mlperf.is_for_accuracy)
    table = Table(title=title, title_justify="left", show_header=False)
    for what, figure in mlperf_rows(result, mlperf).items():
        table.add_row(Text(what), Text(figure))
    Console().print(table)
    if json_path is not None:
        Path(json_path).write_text(text + "\n")
