"""``python -m bench.gpu_check``: see the package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import gpu_check
from bench.gpu_check.asked_driver import DriverFailedError, asked_title
from bench.gpu_check.check import Check, CheckParams
from bench.gpu_check.parts import Part, first, full, short
from bench.gpu_check.setting import Setting, folder_name, mark_of, timed_devices
from bench.gpu_check.summary import summary
from bench.infrastructure import result_file
from bench.infrastructure.built_models import FOLDER
from surplus.engine.atomic_file import write_atomic
from surplus.engine.devices.parsing import available_cores
from surplus.engine.errors import EngineError

FIRST_SECONDS = 300.0
"""For the first stage, beside all else."""

SECONDS = 465.0
"""Less than eight minutes."""


def main() -> int:
    """Run the check.

    Returns
    -------
    int
        0 if everything was measured, whatever the bars say; 1 if something was not; 2 if there is
        nothing to measure on.
    """
    args = _arguments()
    machine = result_file.machine()
    try:
        devices = timed_devices(args.devices)
        title = asked_title(devices, args.work, args.results, machine)
    except (EngineError, DriverFailedError) as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 1 if isinstance(error, DriverFailedError) else 2
    setting = Setting(devices, args.work, args.results / folder_name(title), 0.0)
    machine |= {"gpu": title, "devices": devices}
    stored = {}
    for parts, params in _stages(args, setting):
        check = Check(
            parts, params, machine, lambda line: print(f"{_mark(title)}{line}", flush=True)
        )
        check.play()
        stored |= {name: store.units for name, store in check.stores.items()}
    page = summary(title, machine, stored)
    write_atomic(setting.results / "README.md", page.encode())
    print(f"\n{page}\n{_mark(title)}written to {setting.results}")
    return int(any("error" in found for units in stored.values() for found in units.values()))


def _stages(
    args: argparse.Namespace, setting: Setting
) -> Iterator[tuple[tuple[Part, ...], CheckParams]]:
    """What a first GPU must be asked, which are questions to CUDA, and then all else."""
    if not setting.is_emulated:
        yield first(), CheckParams(setting, FIRST_SECONDS, args.anew, failed_last=True)
    if not args.first:
        parts = (short if args.short else full)(max(1, available_cores() // 2))
        yield parts, CheckParams(setting, args.seconds, args.anew)


def _mark(title: str) -> str:
    return f"{mark} " if (mark := mark_of(title)) else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu_check", description=gpu_check.__doc__
    )
    add = parser.add_argument
    add("--devices", default="cpu,cuda:0:4", help="(default %(default)s)")
    add("--seconds", type=float, default=SECONDS, help="time for all (default %(default)g)")
    add("--anew", action="store_true", help="measure again what is stored")
    add("--first", action="store_true", help="only the first stage, five minutes at most")
    add("--short", action="store_true", help="models that take moments: tries the script out")
    add("--results", type=Path, default=result_file.RESULTS, help="where its folder is made")
    add("--work", type=Path, default=FOLDER, help="where models and caches are kept")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
