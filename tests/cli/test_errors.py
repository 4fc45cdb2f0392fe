"""Wrong input of every kind: one clear line on stderr, a status, nothing on stdout."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from tests.cli.calls import Command

READERS = ("inspect", "profile", "place", "optimum", "run", "serve")


def _more(engine: Command, verb: str, folder: Path) -> tuple[object, ...]:
    """What a verb needs beside its model."""
    return {
        "profile": ("-o", folder / "out.json"),
        "place": ("--profile", engine.path("lenet-P.json")),
        "optimum": ("--profile", engine.path("lenet-P.json")),
        "serve": ("--port", "0"),
    }.get(verb, ())


@pytest.fixture
def broken(engine: Command, tmp_path: Path) -> dict[str, Path]:
    """Model files that are none."""
    whole = engine.path("lenet.onnx").read_bytes()
    (tmp_path / "folder.onnx").mkdir()
    contents = {"empty": b"", "garbage": bytes(range(256)) * 8, "truncated": whole[:-1000]}
    for name, content in contents.items():
        (tmp_path / f"{name}.onnx").write_bytes(content)
    (tmp_path / "endless.onnx").symlink_to("/dev/zero")
    names = (*contents, "folder", "missing", "endless")
    return {name: tmp_path / f"{name}.onnx" for name in names}


@pytest.mark.parametrize("kind", ["empty", "garbage", "truncated", "folder", "missing", "endless"])
@pytest.mark.parametrize("verb", READERS)
def test_model_files(engine: Command, verb: str, kind: str, broken: dict[str, Path]) -> None:
    called = engine(verb, broken[kind], *_more(engine, verb, broken[kind].parent))
    lines = [ln for ln in called.err.splitlines() if not ln.startswith("loading ")]
    assert called.status == 1
    assert len(lines) == 1, called.err
    assert lines[0].startswith(f"engine {verb}: ")
    assert str(broken[kind]) in lines[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inspect"], "the following arguments are required: MODEL"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["inspect", "LENET", "--colour"], "unrecognized arguments: --colour"),
        (["run", "LENET", "--policy", "magic"], "invalid choice: 'magic'"),
        (["run", "LENET", "--repeat", "x"], "invalid int value: 'x'"),
        (["run", "LENET", "--repeat", "0"], "--repeat must be >= 1, got 0"),
        (["run", "LENET", "--repeat", "-3"], "--repeat must be >= 1, got -3"),
        (["run", "LENET", "--devices", "tpu:2"], "unknown kind 'tpu'"),
        (["run", "LENET", "--devices", "cpu:0"], "lanes must be 1 to"),
        (["run", "LENET", "--devices", "cpu,cpu"], "appears twice"),
        (["run", "LENET", "--devices", ","], "is not understood"),
        (["run", "LENET", "--option", "alpha_ns"], "expected KEY=VALUE, got 'alpha_ns'"),
        (["run", "LENET", "--option", "beta=1"], "no option 'beta'; it has: time_ms"),
        (["run", "LENET", "--option", "time_ms=-1"], "time_ms must be above 0, got -1"),
        (["run", "LENET", "--option", "time_ms=abc"], "wrong type: time_ms='abc'"),
        (["run", "LENET", "--policy", "comm_sd", "--option", "max_iterations=0"],
         "max_iterations must be >= 1, got 0"),
        (["run", "LENET", "--option", "alpha_ns=1", "--option", "alpha_ns=2"], "given twice"),
        (["run", "LENET", "--dim", "batch"], "expected KEY=VALUE"),
        (["run", "LENET", "--dim", "batch=-1"], "--dim batch: expected a size >= 0"),
        (["run", "LENET", "--dim", "batch=two"], "--dim batch: expected a size >= 0"),
        (["run", "LENET", "--dim", "batch=2", "--inputs", "x.npz"], "not those of x.npz"),
        (["run", "LENET", "--slice-ms", "1e308"], "slice_s must be 0 to 1e+06"),
        (["run", "LENET", "--gantt", "g.svg"], "g.svg: the suffix"),
        (["run", "LENET", "--profile", "PROFILE"], "--profile goes with --placement"),
        (["run", "LENET", "--inputs", "none.npz"], "none.npz: No such file"),
        (["run", "LENET", "--placement", "none.json"], "none.json: No such file"),
        (["profile", "LENET"], "required: -o"),
        (["profile", "LENET", "-o", "P.json", "--devices", "gpu"], "unknown kind 'gpu'"),
        (["place", "LENET"], "required: --profile"),
        (["place", "LENET", "--profile", "none.json"], "none.json: No such file"),
        (["place", "LENET", "--profile", "LENET"], "lenet.onnx"),
        (["place", "LENET", "--profile", "OTHER_PROFILE"], "profile is of another model"),
        (["place", "LENET", "--profile", "PROFILE", "--policy", "qd", "--option", "x=1"],
         "policy 'qd' has no option 'x'"),
        (["optimum", "LENET", "--profile", "OTHER_PROFILE"], "profile is of another model"),
        (["optimum", "LENET", "--profile", "PROFILE", "--solver", "magic"], "invalid choice"),
        (["optimum", "LENET", "--profile", "PROFILE", "--time", "0"], "time_limit_s must be > 0"),
        (["optimum", "LENET", "--profile", "PROFILE", "--time", "nan"], "time_limit_s"),
        (["optimum", "LENET", "--profile", "PROFILE", "--memory", "much"],
         "size 'much' is not understood"),
        (["optimum", "LENET", "--profile", "PROFILE", "--memory", "1kB"],
         "memory limit 1000 bytes: this process holds"),
        (["run", "LENET", "--placement", "OTHER", "--profile", "PROFILE"], "of another model"),
        (["run", "LENET", "--placement", "PROFILE", "--profile", "PROFILE"], "field 'format'"),
        (["run", "LENET", "--placement", "PLACEMENT", "--devices", "cpu:1"],
         "unknown device 'emulated:gpu'"),
        (["serve", "LENET", "--port", "70000"], "grpc_port is 70000"),
        (["serve", "LENET", "--port", "0", "--max-in-flight", "0"], "max_in_flight"),
        (["serve", "LENET", "--port", "0", "--drain", "-1"], "drain_timeout_s"),
        (["serve", "LENET", "--port", "0", "--option", "beta=1"], "no option 'beta'"),
        (["serve", "LENET", "--port", "0", "--devices", "tpu"], "unknown kind 'tpu'"),
        (["models", "build", "nonsense"], "no model named 'nonsense'"),
        (["models", "build", "chain", "--param", "length"], "expected KEY=VALUE"),
        (["models", "build", "chain", "--param", "length=x"], "length must be of type int"),
        (["models", "build", "chain", "--param", "colour=1"], "has no parameter 'colour'"),
        (["models", "build", "chain", "--param", "length=0"], "length"),
        (
            ["models", "build", "chain", "--param", "length=100000000000000000000"],
            "length must be at most 1000000, got 100000000000000000000",
        ),
    ],
)  # fmt: skip
def test_wrong_usage(engine: Command, words: list[str], message: str, tmp_path: Path) -> None:
    files = {
        "LENET": "lenet.onnx",
        "PROFILE": "lenet-P.json",
        "PLACEMENT": "lenet-Q.json",
        "OTHER": "fork_join-F.json",
        "OTHER_PROFILE": "fork_join-P.json",
    }
    _scatter(engine)
    called = engine(*(engine.path(files[w]) if w in files else w for w in words))
    assert message in called.err
    assert called.is_one_clear_line(), called
    assert list(tmp_path.iterdir()) == []


def _scatter(engine: Command) -> None:
    """A placement with a task on the emulated device, whatever the policy chose."""
    document = json.loads(engine.path("lenet-F.json").read_text())
    first = next(iter(document["tasks"]))
    document["tasks"][first][0] = "emulated:gpu"
    engine.path("lenet-Q.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("profile", "-o"), ("place", "-o"), ("place", "--problem"), ("place", "--gantt"),
        ("optimum", "-o"), ("optimum", "--problem"), ("optimum", "--gantt"), ("run", "--trace"),
        ("run", "--gantt"), ("optimum", "--plot"),
    ],
)  # fmt: skip
def test_outputs_are_checked_before_any_work(
    engine: Command, verb: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surplus.engine.planning.stages.read_model", _must_not_be_called)
    (tmp_path / "file").touch()
    (tmp_path / "taken.html").mkdir()
    more = [] if option == "-o" else [*_more(engine, verb, tmp_path)]
    more += ["--profile", engine.path("lenet-P.json")] if verb in ("place", "optimum") else []
    for path in ("no/where.html", "file/x.html", "taken.html"):
        called = engine(verb, engine.path("lenet.onnx"), *more, option, tmp_path / path)
        assert called.is_one_clear_line(), called
        assert str(tmp_path / path) in called.err


def _must_not_be_called(*_: object) -> None:
    raise AssertionError("work was begun")


def test_models_build_into_no_folder(engine: Command, tmp_path: Path) -> None:
    called = engine("models", "build", "lenet", "-o", tmp_path / "no" / "lenet.onnx")
    assert called.is_one_clear_line()


def _image(shape: tuple[int, ...] = (1, 1, 28, 28), dtype: str = "float32") -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("verb", ["run", "profile"])
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "input 'image' is missing"),
        ({"picture": _image()}, "unknown input 'picture'; there are: image"),
        ({"image": _image(), "extra": _image()}, "unknown input 'extra'"),
        (
            {"image": _image((1, 3, 28, 28))},
            "expected shape (batch, 1, 28, 28), got (1, 3, 28, 28)",
        ),
        ({"image": _image((28, 28))}, "expected shape (batch, 1, 28, 28), got (28, 28)"),
        ({"image": _image(dtype="float64")}, "expected float32, got float64"),
        ({"image": np.array(["text"])}, "expected float32, got <U4"),
    ],
)
def test_wrong_inputs(
    engine: Command, verb: str, arrays: dict[str, np.ndarray], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "in.npz"
    np.savez(path, **arrays)
    more = _more(engine, verb, tmp_path)
    called = engine(verb, engine.path("lenet.onnx"), "--inputs", path, *more)
    assert message in called.err
    assert str(path) in called.err
    assert called.is_one_clear_line(), called


def test_inputs_files_that_are_none(engine: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "whole.npz", image=_image())
    np.save(tmp_path / "single.npy", _image())
    np.savez(tmp_path / "pickle.npz", image=np.array([{}], object))
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "flipped.npz").write_bytes(whole[:200] + b"\xff" * 64 + whole[264:])
    (tmp_path / "empty.npz").touch()
    (tmp_path / "folder.npz").mkdir()
    for name in ("single.npy", "pickle.npz", "cut.npz", "empty.npz", "folder.npz", "flipped.npz"):
        path = tmp_path / name
        called = engine("run", engine.path("lenet.onnx"), "--inputs", path, "--repeat", "1")
        assert called.is_one_clear_line(), called
        assert str(path) in called.err


def test_unknown_dimension(engine: Command) -> None:
    called = engine("run", engine.path("lenet.onnx"), "--dim", "batsh=2")
    assert "no input has a dimension 'batsh'; there are: batch" in called.err
    assert called.is_one_clear_line()


def test_port_in_use(engine: Command) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        called = engine("serve", engine.path("lenet.onnx"), "--port", port)
    assert f"127.0.0.1:{port}: Address already in use" in called.err
    assert called.status == 1


@pytest.mark.parametrize("content", ["", "x.onnx", "model/", "model/1/"])
def test_repositories_without_a_model(engine: Command, content: str, tmp_path: Path) -> None:
    if content.endswith("/"):
        (tmp_path / content).mkdir(parents=True)
    elif content:
        (tmp_path / content).touch()
    assert engine("serve", tmp_path, "--port", "0").is_one_clear_line()


def test_what_we_did_not_foresee(engine: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("lost\nits way")

    monkeypatch.setattr("surplus.engine.planning.stages.read_model", fail)
    called = engine("inspect", engine.path("lenet.onnx"))
    assert called.status == 70
    assert called.err.startswith("engine inspect: internal error: LookupError: lost its way")
    assert called.err.count("\n") == 1


def test_interrupt(engine: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surplus.engine.planning.stages.read_model", interrupt)
    called = engine("inspect", engine.path("lenet.onnx"))
    assert (called.status, called.err) == (130, "")
