"""``loadgen``: measure a served model."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from surplus.loadgen.arrivals import ARRIVALS
from surplus.loadgen.clients.inputs import InputParams, ModelInput, parse_shape
from surplus.loadgen.clock import NS_PER_S, precise_loop
from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.errors import LoadgenError
from surplus.loadgen.hdr import hdr_missing, write_hdr_log
from surplus.loadgen.measure import measure
from surplus.loadgen.measure_params import ArrivalParams, MeasureParams
from surplus.loadgen.open_loop import OpenLoopParams
from surplus.loadgen.params import LoadgenParams
from surplus.loadgen.result import to_json
from surplus.loadgen.stats import LoadSummary
from surplus.loadgen.table import render
from surplus.loadgen.transport import CLIENTS, PROTOCOLS, TlsParams, TransportParams

_USUAL = {"grpc": "127.0.0.1:8001", "http": "127.0.0.1:8000"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status.

    0 if a query succeeded, 1 for a failed run, 2 for a bad option, 70 for a failure that we did not
    foresee, 130 after Ctrl-C.
    """
    arguments = _parser().parse_args(argv)
    try:
        params = _params(arguments)
    except ValueError as error:
        return _fail(error, 2)
    try:
        _check_file(arguments.json)
        _check_file(arguments.hdr)
        if arguments.hdr and (reason := hdr_missing()):
            return _fail(reason, 1)
        with asyncio.Runner(loop_factory=precise_loop) as runner:
            summary, records = runner.run(measure(params, Console(stderr=True)))
        _report(summary, params, arguments.json)
        if arguments.hdr:
            write_hdr_log(Path(arguments.hdr), records, f"{params.model} at {params.url}")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away: not a failure of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (LoadgenError, OSError) as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except Exception as error:
        return _fail(f"internal error: {type(error).__name__}: {error}", 70)
    return 0 if summary.succeeded else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("loadgen", description="Measure a served model.")
    add = parser.add_argument
    add("--url", help="the server's address (127.0.0.1:8001, or 127.0.0.1:8000 over http)")
    add("--model", required=True, help="name of the served model")
    add("--model-version", default="", help="default: the server's choice")
    loop = parser.add_mutually_exclusive_group()
    loop.add_argument("--users", type=int, default=1, help="closed loop: queries in flight")
    loop.add_argument("--rate", type=float, help="open loop: queries per second")
    add("--arrivals", choices=list(ARRIVALS), default="poisson", help="of the open loop")
    add("--max-outstanding", type=int, default=4096, help="of the open loop (%(default)s)")
    add("--seed", type=int, default=0, help="of arrivals and random inputs (%(default)s)")
    add("--duration", help="least time: 10s, 500ms, 2m (10s, or nothing with --count)")
    add("--count", type=int, default=0, help="least number of measured queries")
    add("--warmup", default="1s", help="time before the measurement (%(default)s)")
    add("--timeout", default="60s", help="of each query (%(default)s)")
    add("--inputs", type=Path, metavar="FILE.npz", help="arrays named like the inputs")
    add("--input", action="append", default=[], metavar="NAME:SHAPE:TYPE[:random|zeros]")
    add("--shape", action="append", default=[], metavar="NAME:SHAPE", help="for open dimensions")
    add("--client", choices=CLIENTS, default="auto", help="native where that can be used (auto)")
    add("--protocol", choices=PROTOCOLS, default="grpc", help="http: binary tensors (grpc)")
    add("--connections", type=int, default=0, help="of the native client (default: one a user)")
    add("--threads", type=int, default=1, help="of the native client (%(default)s)")
    add("--compare", action="store_true", help="answers that differ from the first are errors")
    add("--shared-memory", action="store_true", help="tensors lie in system shared memory (grpc)")
    add("--tls-ca", metavar="FILE", help="ask over TLS a server of this authority (PEM)")
    add("--tls-cert", default="", metavar="FILE", help="what is shown to it, with its key (PEM)")
    add("--tls-key", default="", metavar="FILE", help="the key of --tls-cert")
    add("--json", metavar="FILE|-", help="write the result as JSON; - prints only JSON")
    add("--hdr", metavar="FILE", help="write latencies as an HDR histogram log")
    return parser


def _params(arguments: argparse.Namespace) -> MeasureParams:
    inputs = InputParams(
        file=arguments.inputs,
        specs=tuple(ModelInput.parse(text) for text in arguments.input),
        shapes=dict(parse_shape(text) for text in arguments.shape),
        seed=arguments.seed,
    )
    loop, arrivals = _loop(arguments), ArrivalParams()
    if isinstance(loop, OpenLoopParams):
        arrivals = ArrivalParams(arguments.arrivals, arguments.rate, arguments.seed)
    timeout_s = parse_duration_ns(arguments.timeout) / NS_PER_S
    if timeout_s <= 0:
        raise ValueError(f"timeout must be > 0, got {arguments.timeout}")
    url = arguments.url or _USUAL[arguments.protocol]
    target = (url, arguments.model, arguments.model_version)
    return MeasureParams(*target, timeout_s, inputs, loop, arrivals, _transport(arguments))


def _transport(arguments: argparse.Namespace) -> TransportParams:
    return TransportParams(
        arguments.client,
        arguments.protocol,
        arguments.connections,
        arguments.threads,
        arguments.compare,
        arguments.shared_memory,
        _tls(arguments),
    )


def _tls(arguments: argparse.Namespace) -> TlsParams | None:
    if arguments.tls_ca:
        return TlsParams(arguments.tls_ca, arguments.tls_cert, arguments.tls_key)
    if arguments.tls_cert or arguments.tls_key:
        raise ValueError("--tls-cert and --tls-key need --tls-ca")
    return None


def _loop(arguments: argparse.Namespace) -> ClosedLoopParams | OpenLoopParams:
    duration = arguments.duration or ("0s" if arguments.count else "10s")
    load = LoadgenParams(
        parse_duration_ns(duration), arguments.count, parse_duration_ns(arguments.warmup)
    )
    if arguments.rate is not None:
        return OpenLoopParams(load, arguments.max_outstanding)
    return ClosedLoopParams(load, arguments.users)


def _check_file(path: str | None) -> None:
    """Refuse a result file that cannot be written before the measurement, not after it."""
    if path in (None, "-"):
        return
    if Path(path).is_dir() or not os.access(Path(path).parent, os.W_OK):
        raise OSError(f"{path}: cannot be written")


def _report(summary: LoadSummary, params: MeasureParams, json_path: str | None) -> None:
    if json_path == "-":
        print(to_json(summary, params))
    else:
        Console().print(render(summary, f"{params.model} at {params.url}"))
    if json_path not in (None, "-"):
        Path(json_path).write_text(to_json(summary, params) + "\n")
    for warning in summary.warnings:
        print(f"loadgen: warning: {warning}", file=sys.stderr)


def _fail(error: object, status: int) -> int:
    print(f"loadgen: {' '.join(str(error).split())}", file=sys.stderr)
    return status
