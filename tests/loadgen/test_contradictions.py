"""Options that would have no effect beside the others are refused, with a sentence."""

from __future__ import annotations

import numpy as np
import pytest

from surplus.loadgen.cli import main

_ASK = ["--url", "127.0.0.1:9", "--model", "m"]
_HERE = ["--in-process", "m.onnx"]
_ACCURACY = ["mlperf", "offline", *_ASK, "--mode", "accuracy"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*_ASK, "--arrivals", "poisson"], "--arrivals is of an open loop: give --rate"),
        ([*_ASK, "--users", "2", "--arrivals", "bursty"], "--arrivals is of an open loop"),
        ([*_ASK, "--users", "2", "--max-outstanding", "9"], "--max-outstanding is of an open loop"),
        ([*_ASK, "--runtime", "onnxruntime"], "--runtime is of models in this process"),
        ([*_HERE, "--protocol", "grpc"], "--protocol is of a server, and --in-process asks none"),
        ([*_HERE, "--model-version", "1"], "--model-version is of a server"),
        ([*_HERE, "--timeout", "1s"], "--timeout is of a server"),
        ([*_HERE, "--connections", "2"], "--connections is of an open loop here"),
        ([*_ASK, "--image-scaling", "unit"], "--image-scaling is of pictures: give --images"),
        ([*_ASK, "--image-input", "x"], "--image-input is of pictures"),
        ([*_ASK, "--image-layout", "auto"], "--image-layout is of pictures"),
        ([*_ASK, "--threads", "3", "--users", "2"], "--threads 3 are more than --users 2"),
        (
            [*_ASK, "--threads", "3", "--users", "4", "--connections", "2"],
            "--threads 3 are more than --connections 2",
        ),
        (
            [*_ASK, "--threads", "3", "--rate", "5", "--max-outstanding", "2"],
            "--threads 3 are more than --max-outstanding 2",
        ),
        (["capacity", *_ASK, "--slo", "1s", "--runtime", "surplus"], "--runtime is of models"),
        (["mlperf", "single-stream", *_HERE, "--timeout", "1s"], "--timeout is of a server"),
        (["mlperf", "offline", *_ASK, "--expect", "e.npz"], "--expect is of accuracy"),
        (["mlperf", "offline", *_ASK, "--answers", "a.npz"], "--answers is of accuracy"),
        ([*_ACCURACY, "--duration", "1m"], "--duration is of performance"),
        ([*_ACCURACY, "--count", "5"], "--count is of performance"),
        ([*_ACCURACY, "--compare"], "--compare is of performance"),
        ([*_ACCURACY, "--shared-memory"], "--shared-memory is of performance"),
        ([*_ACCURACY, "--rate", "5"], "--rate is for server, not offline"),
        ([*_ACCURACY, "--slo", "1s"], "--slo is of performance, not of accuracy"),
        ([*_ACCURACY, "--percentile", "9"], "--percentile is of performance, not of accuracy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_would_have_no_effect_is_refused(capsys, words, message):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_table_of_a_scenario_has_pictures_for_an_option_of_all(capsys, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('image-scaling = "unit"\n[[model]]\nname = "m"\nimages = ["none.png"]\n')
    assert main(["--url", "127.0.0.1:9", "--scenario", str(file)]) == 1
    assert "cannot reach a server" in capsys.readouterr().err


def test_an_input_is_given_once(identity, capsys, tmp_path):
    np.savez(tmp_path / "x.npz", **{"x:0": np.zeros((1, 4), np.float32)})
    words = ["--url", identity.url, "--model", "identity", "--inputs", str(tmp_path / "x.npz")]
    assert main([*words, "--input", "x:0:1,4:FP32"]) == 1
    assert "input 'x:0' is given twice" in capsys.readouterr().err
    assert main([*words, "--shape", "x:0:2,4"]) == 1
    assert "input 'x:0' is given: a shape for it is one too many" in capsys.readouterr().err
    assert identity.requests == []
