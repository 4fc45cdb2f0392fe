"""``engine serve``: answer queries over the Open Inference Protocol (gRPC, HTTP)."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import Any

from surplus.engine.cli import options, serve_policy, serve_policy_options
from surplus.engine.cli.end_by import end_by
from surplus.engine.cli.parser import add_verb
from surplus.engine.cli.serve_control import add_control, asked_control, loaded_now
from surplus.engine.cli.serve_isolation import add_isolation, isolated_groups
from surplus.engine.cli.serve_life import (
    Live,
    check_addresses,
    expect_trials,
    served,
    served_apart,
    served_by_policy,
)
from surplus.engine.cli.serve_loading import loading_params
from surplus.engine.cli.serve_options import add_server, server_params
from surplus.engine.cli.serve_urgency import add_urgency, by_model, usual

_SUMMARY = "answer queries over the Open Inference Protocol (gRPC, HTTP)"
_EXAMPLE = """
engine serve model.onnx --devices cpu:2
engine serve repository/ --policy heft --lazy
engine serve repository/ --model-control-mode poll --repository-poll-s 5
engine serve repository/ --policy edf_drop --slo resnet50=100ms --slo bert=200ms
"""


def add_parser(verbs: Any) -> None:
    """Register the verb."""
    parser = add_verb(verbs, "serve", _SUMMARY, _EXAMPLE, run)
    add = parser.add_argument
    add(
        "models",
        type=Path,
        nargs="+",
        metavar="MODEL_OR_REPOSITORY",
        help="an ONNX file, or a folder of NAME/VERSION/model.onnx (docs/how_to/repository.md)",
    )
    options.add_cache(parser)
    options.add_devices(parser)
    options.add_policy(parser, open_names=True)
    serve_policy_options.add_options(parser)
    options.add_slices(parser)
    options.add_gpu_memory(parser)
    options.add_kernels(parser)
    options.add_custom_operators(parser)
    options.add_limits(parser)
    options.add_overlap(parser)
    add_urgency(parser)
    add_server(parser)
    add_control(parser)
    add_isolation(parser)


def run(args: argparse.Namespace) -> int:
    """Load everything, say what is served and how to query it, serve until stopped."""
    from surplus.engine.ensembles.step_models import stamps_in
    from surplus.engine.planning.tune_by_default import tune_by_default
    from surplus.engine.repository.layout import find_models, warn_of_fields

    by_policy = serve_policy.asked(args)
    control = asked_control(args, under_policy=by_policy is not None)
    is_live = control.mode != "none"
    stamps = stamps_in(args.models) if is_live else {}
    entries = find_models(*args.models, may_be_empty=is_live)
    restarts = args.on_device_loss in (None, "restart")
    is_late = args.lazy or control.memory_bytes > 0
    groups = isolated_groups(args, entries, under_policy=by_policy is not None)
    if by_policy is not None:
        return served_by_policy(server_params(args), entries, by_policy, restarts=restarts)
    if tune_by_default() == "background" and not is_late and groups is None:
        expect_trials(loaded_now(args, entries), args.cache)
    loading = loading_params(args, restarts=restarts)
    loadings = by_model(args, loading, (entry.name for entry in entries))
    now = loaded_now(args, entries)
    warn_of_fields(now)
    server = server_params(args)
    check_addresses(server)
    before = signal.signal(signal.SIGINT, lambda number, _: end_by(number))  # until it is served
    try:
        if groups is not None:
            return served_apart(server, entries, loadings, groups, lazy=args.lazy)
        live = Live(args.models, control, usual(args, loading), stamps)
        return served(server, now, loadings, live, lazy=args.lazy, restarts=restarts)
    finally:
        signal.signal(signal.SIGINT, before)
