"""Plans that were chosen under other conditions than they serve under.

A model is loaded while other processes keep cores busy, which then end, or is loaded on a quiet
machine that then becomes busy. It serves one query after the other, for 30 s at most, until its
plan is judged anew, and is then compared in turns: where the machine is quiet with ONNX Runtime at
its best of one and two threads, and so is the next start, in a process of its own; where it is busy
with the best of its own plans, each kept for good.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx

import surplus
from bench.infrastructure import peer, result_file
from bench.infrastructure.built_models import built
from bench.infrastructure.resumable import Key, Row, Table
from bench.infrastructure.timing import Times, interleaved
from bench.safety.budget import add_budget, fill_within
from surplus.engine.devices.machines import machine_for
from surplus.engine.devices.parsing import parse_devices
from surplus.engine.examples.made_up import example_inputs
from surplus.engine.planning.stages import read_model
from surplus.engine.runtime.planned_model import PlannedModel
from surplus.engine.segmentation.judgement import Judgement, TrialOutcome
from surplus.engine.segmentation.plan import Plan

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MODELS = ("densenet121", "shufflenet", "squeezenet", "inception_v1", "resnet50", "bert_base")
CONDITIONS = (
    "1 busy, then quiet",
    "2 busy, then quiet",
    "quiet, then 1 busy",
    "quiet, then 2 busy",
)
SERVICE_S = 30.0
ROUNDS = 25
BLOCK_NS = 60_000_000

_SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""

Run = Callable[[], object]


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Other processes, each of which keeps a core busy, for as long as this one is there."""
    command = [sys.executable, "-c", _SPIN]
    started = [subprocess.Popen(command) for _ in range(processes)]
    time.sleep(0.3)
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def subject(name: str) -> tuple[Path, dict[str, Any] | None]:
    """A model's file, and its inputs if they come with it."""
    light = LIGHT / f"light_{name}.onnx"
    return (light, None) if light.exists() else built(name)


def loaded(name: str, cache: Path) -> tuple[PlannedModel, dict[str, Any]]:
    """The model and inputs for it."""
    path, inputs = subject(name)
    model = surplus.load(path, devices=_devices(), cache=cache, inputs=inputs, tune="now")
    if inputs is None:
        inputs = example_inputs(read_model(path, cache), path)
    return model, inputs


def served_s(model: PlannedModel, inputs: Mapping[str, Any], most_s: float) -> float:
    """Serve until a trial decided something and a second more, for so long at most."""
    began = time.monotonic()
    judged = most_s
    while (now := time.monotonic() - began) < min(most_s, judged + 1):
        model.run(inputs)
        if judged == most_s and _is_judged(model):
            judged = now
    return now


def _is_judged(model: PlannedModel) -> bool:
    found = model.judgement
    return found is None or any(trial.outcome is not TrialOutcome.OPEN for trial in found.trials)


def beside_runtime(name: str, model: PlannedModel, inputs: Mapping[str, Any]) -> tuple[str, float]:
    """ONNX Runtime's best setting, and the model's time over its."""
    path, _ = subject(name)
    return _ratio(lambda: model.run(inputs), peer.runners(path, inputs))


def beside_fixed(
    model: PlannedModel, fixed: Sequence[PlannedModel], inputs: Mapping[str, Any]
) -> tuple[str, float]:
    """The best of some plans, each kept as it is, and the model's time over its."""
    return _ratio(lambda: model.run(inputs), {m.plan.name: _runner(m, inputs) for m in fixed})


def _runner(model: PlannedModel, inputs: Mapping[str, Any]) -> Run:
    return lambda: model.run(inputs)


def _ratio(ours: Run, others: Mapping[str, Run]) -> tuple[str, float]:
    """Every other round says which is best, the others how it compares.

    What is best of several by the rounds that it is measured with was lucky in these: beside busy
    processes a plan was 16 % slower than itself.
    """
    times = interleaved({"engine": ours, **others}, ROUNDS, BLOCK_NS, budget_ns=12_000_000_000)
    best = min(others, key=lambda other: _relative(times, other, 0))
    return best, 1 / _relative(times, best, 1)


def _relative(times: Mapping[str, Times], name: str, first: int) -> float:
    other, own = (Times(times[key].rounds[first::2]) for key in (name, "engine"))
    return other.ratio_to(own)


def row(name: str, condition: str, service_s: float) -> Row:
    """Load, let conditions change, serve, compare."""
    before, after = (0 if w == "quiet" else int(w[0]) for w in condition.split(", then "))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        with busy(before):
            model, inputs = loaded(name, cache)
        judgement, plan = model.judgement, model.plan
        assert judgement is not None, "plans were compared"
        with busy(after):
            seconds = served_s(model, inputs, service_s)
            if after:
                best, ratio = beside_fixed(model, _fixed(model, plan, judgement), inputs)
            else:
                best, ratio = beside_runtime(name, model, inputs)
        then, last, share = model.plan.name, model.judgement, model.share
        del model
        following = _next_start(name, cache) if not after else {"plan": "", "ratio": None}
    assert last is not None, "it was judged"
    assert share is not None, "it was judged"
    return {
        "model": name,
        "conditions": condition,
        "loaded as": plan.name,
        "taken": judgement.disturbance.share,
        "provisional": judgement.provisional,
        "served s": seconds,
        "then": then,
        "beside": best.removeprefix("onnxruntime "),
        "ratio": ratio,
        "next start": following["plan"],
        "its ratio": following["ratio"],
        "trials": len(last.trials),
        "lost": share.lost_ns / max(1, share.queries_ns),
    }


def _fixed(model: PlannedModel, plan: Plan, judgement: Judgement) -> list[PlannedModel]:
    """The plan it was loaded with and its runners-up, each for good."""
    machine = machine_for(parse_devices(_devices()))
    plans = [plan, *(runner_up.read() for runner_up in judgement.runners_up)]
    return [PlannedModel(model.graph, each, machine) for each in plans]


def _next_start(name: str, cache: Path) -> Row:
    command = [sys.executable, "-m", "bench.models.plan_judgement", "--start", name, str(cache)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def start(name: str, cache: Path) -> Row:
    """A later start beside ONNX Runtime."""
    model, inputs = loaded(name, cache)
    plan = model.plan.name
    _, ratio = beside_runtime(name, model, inputs)
    return {"plan": plan, "ratio": ratio}


def _devices() -> str:
    return f"cpu:{len(os.sched_getaffinity(0))}"


def _measured(name: str, condition: str, service_s: float) -> Row:
    """A row, measured in a process of its own."""
    command = [sys.executable, "-m", "bench.models.plan_judgement", "--one", name, condition]
    command += ["--service", str(service_s)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure what is missing, and store the table when it is whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=MODELS, choices=MODELS, metavar="NAME")
    parser.add_argument("--service", type=float, default=SERVICE_S, metavar="S")
    parser.add_argument("--anew", action="store_true", help="measure all again")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--start", nargs=2, help=argparse.SUPPRESS)
    add_budget(parser)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(row(*args.one, args.service)))
    elif args.start:
        print(json.dumps(start(args.start[0], Path(args.start[1]))))
    else:
        config = {"service s": args.service, "rounds": ROUNDS, "models": list(args.models)}
        keys: list[Key] = [(model, c) for model in args.models for c in CONDITIONS]
        table = Table("plan_judgement", config, ("model", "conditions"), anew=args.anew)
        fill_within(table, keys, lambda key: _measured(key[0], key[1], args.service), args.seconds)
        result_file.show("plan_judgement", table.rows)


if __name__ == "__main__":
    main()
