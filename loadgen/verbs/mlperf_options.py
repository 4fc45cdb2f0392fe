"""Options of ``loadgen mlperf``, and what they ask for."""

from __future__ import annotations

import argparse
from pathlib import Path

from surplus.loadgen.closed_loop import ClosedLoopParams
from surplus.loadgen.duration import parse_duration_ns
from surplus.loadgen.measure_params import MeasureParams
from surplus.loadgen.mlperf.params import MODES, PERFORMANCE, SCENARIOS, MlperfParams
from surplus.loadgen.verbs.options import add_target_options, asked_models, transport, url


def add_mlperf_options(parser: argparse.ArgumentParser) -> None:
    """All of the verb's."""
    add = parser.add_argument
    add("kind", choices=list(SCENARIOS), help="which of the scenarios")
    add_target_options(parser)
    add("--mode", choices=list(MODES), default=PERFORMANCE, help="of LoadGen (%(default)s)")
    add("--rate", type=float, help="queries per second: of server, and expected of offline")
    add("--slo", help="the target of server: how long queries may take, as 50ms")
    add("--percentile", type=float, help="that is judged (single-stream 90, the others 99)")
    add("--samples", type=int, help="of a query of multi-stream (8)")
    add("--duration", help="least time (10s; a submission's is 10m)")
    add("--count", type=int, help="least number of queries (1)")
    add("--warmup", default="1s", help="one user before LoadGen begins (%(default)s)")
    add("--max-outstanding", type=int, default=256, help="samples in flight (%(default)s)")
    add("--expect", type=Path, metavar="FILE.npz", help="of accuracy: what answers should be")
    add("--answers", type=Path, metavar="FILE.npz", help="of accuracy: write them for --expect")
    add("--logs", type=Path, metavar="DIR", help="where LoadGen's logs are kept")
    add("--json", metavar="FILE|-", help="write the result; - prints only JSON")


def mlperf_params(arguments: argparse.Namespace) -> MlperfParams:
    """What LoadGen is asked for.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
    return MlperfParams(
        arguments.kind,
        parse_duration_ns(arguments.duration or "10s"),
        1 if arguments.count is None else arguments.count,
        arguments.rate,
        None if arguments.slo is None else parse_duration_ns(arguments.slo),
        arguments.percentile,
        arguments.samples,
        arguments.max_outstanding,
        arguments.seed,
        arguments.mode,
    )


def measure_params(arguments: argparse.Namespace) -> MeasureParams:
    """Whom it asks.

    Raises
    ------
    ValueError
        Naming what is wrong.
    """
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
