"""What a server says of the models that it loads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from surplus.engine.cli.loaded_with_progress import plan_text
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.native import load_runtime
from surplus.engine.runtime.unread import Unread
from surplus.placement.timeline import Span, SpanKind, Timeline


def _nobody_reads() -> NoReturn:
    raise AssertionError


def test_a_plan_that_was_not_measured_has_no_times(cli_folder: Path) -> None:
    load_runtime()
    path = cli_folder / "lenet.onnx"
    plan = Unread(path, parse_devices("cpu:1"), _nobody_reads).plan
    assert plan_text(plan) == "1 segments (whole x1, not measured yet)"
    span = Span(SpanKind.SEGMENT, 0, "s", "", "cpu", (0,), 0, 0, 2_000_000)
    measured = replace(plan, name="whole x1", predicted=Timeline((span,), "x"), bound_ns=1_000_000)
    expected = "1 segments (whole x1), predicted makespan 2.00 ms, lower bound 1.00 ms"
    assert plan_text(measured) == expected
