"""How ``engine serve`` loads its models, as far as that is the same for all."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from surplus.engine.cli.asked import asked_params

if TYPE_CHECKING:
    from surplus.engine.planning.load_params import LoadParams


def loading_params(args: argparse.Namespace, *, restarts: bool) -> LoadParams:
    """What the options say.

    Parameters
    ----------
    restarts : bool
        Whether the server ends when a device is lost, to be started again.

    Raises
    ------
    DeviceError
        If models are loaded late, onto a device that is not there.
    """
    from surplus.engine.planning.tune_by_default import tune_by_default

    loading = asked_params(
        args,
        slice_s=args.slice_ms / 1e3,
        max_load_s=args.max_load_s,
        max_query_s=args.max_query_ms / 1e3,
        gpu_memory=args.gpu_memory,
        on_device_loss="fail" if restarts else args.on_device_loss,
        relaxed_numerics=args.any_bits,
        max_batch=args.max_batch,
        tune=tune_by_default(),
        crash_probe=True,
    )
    specs = loading.specs()
    if args.lazy or args.model_memory:  # else loading says what is missing
        for spec in specs:  # what else the first query of each model would be refused for
            spec.check_present()
    return loading
