"""The pages of loadgen: each command runs, against a real server, and each option is told of."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from surplus.engine.serving.server_params import ServerParams
from surplus.loadgen.arrivals import ARRIVALS
from surplus.loadgen.cli import VERBS, _parser, main, with_verb
from surplus.loadgen.clients.images import SCALINGS
from surplus.loadgen.mlperf.library import mlperf_missing
from surplus.loadgen.native import http2_missing
from surplus.loadgen.plots import PLOTS
from surplus.loadgen.runtimes import RUNTIMES
from tests.examples.test_commands import lines
from tests.serving.fakes import ServerThread, identity

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "how_to" / "measure.md"
REFERENCE = DOCS / "reference" / "loadgen.md"
SHAPE = (1, 3, 8, 8)
SHORTER = {
    "run": "--duration 50ms --count 5 --warmup 0s",
    "capacity": "--slo 10ms --percentile 50 --window 200ms --warmup 0s --windows 1 --checks 1"
    " --resolution 1 --start 500",
    "mlperf": "--duration 50ms --warmup 0s",
}
"""What is added to commands of the page: the last of two values is taken."""
SHORT_ACCURACY = "--warmup 0s"


@pytest.fixture
def server() -> Iterator[ServerThread]:
    """A server of the models that the page asks."""
    thread = ServerThread(ServerParams(grpc_port=0, http_port=0))
    for name in ("resnet50", "bert"):
        thread.serve(name, identity(shape=SHAPE))
    yield thread
    thread.stop()


def _write_files(folder: Path) -> None:
    """Those that the commands read."""
    text = PAGE.read_text()
    for name, language in (("arrivals.csv", "csv"), ("mixed.toml", "toml")):
        (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        (folder / name).write_text(block)
    (folder / "pictures").mkdir()
    for number in range(2):
        picture = Image.fromarray(np.full((16, 12, 3), 100 * number, np.uint8))
        picture.save(folder / "pictures" / f"{number}.png")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "m", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(
        helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "resnet50.onnx"
    )


def _words(line: str, server: ServerThread) -> list[str]:
    """Of a command, for this server, and short."""
    line = line.replace("127.0.0.1:8001", server.url).replace("127.0.0.1:8000", server.http_url)
    words = with_verb(shlex.split(line)[1:])
    verb = words[0]
    if verb in SHORTER:
        words += (SHORT_ACCURACY if "accuracy" in words else SHORTER[verb]).split()
        if not {"--url", "--in-process"} & set(words):
            words += ["--url", server.url]
    return words


@pytest.mark.skipif(http2_missing() is not None, reason=str(http2_missing()))
def test_every_command_of_the_page_runs(
    server: ServerThread,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_files(tmp_path)
    ran = set()
    for line in (line for line in lines(PAGE) if line.startswith("loadgen ")):
        words = _words(line, server)
        if words[0] == "mlperf" and mlperf_missing():
            continue
        if "labels.npz" in words:
            # This model has no scores of classes; tests/loadgen/test_mlperf_accuracy.py has labels.
            shutil.copy("right.npz", "labels.npz")
        status = main(words)
        out, err = capsys.readouterr()
        said = [text for text in err.splitlines() if text.startswith("loadgen: ")]
        assert [text for text in said if not text.startswith("loadgen: warning: ")] == [], line
        # So short a run of MLPerf's is seldom a valid one.
        assert status == 0 or (words[0] == "mlperf" and "INVALID" in out), line
        ran.add(words[0])
    assert ran >= set(VERBS) - {"mlperf"}
    assert (tmp_path / "load.png").read_bytes().startswith(b"\x89PNG")


def _options(verb: str) -> set[str]:
    top = _parser([verb])._actions
    (verbs,) = (action for action in top if isinstance(action, argparse._SubParsersAction))
    actions = verbs.choices[verb]._actions
    return {text for action in actions for text in action.option_strings} - {"-h", "--help"}


def test_the_reference_has_every_option_and_no_other() -> None:
    known = {option for verb in VERBS for option in _options(verb)}
    text = REFERENCE.read_text()
    assert {option for option in known if not re.search(rf"`{option}\b| {option} ", text)} == set()
    assert set(re.findall(r"--[a-z][a-z-]*", text)) <= known


def test_the_reference_has_every_name_that_an_option_takes() -> None:
    text = REFERENCE.read_text()
    names = [*VERBS, *ARRIVALS, *SCALINGS, *PLOTS, *RUNTIMES]
    assert [name for name in names if f"`{name}`" not in text] == []
