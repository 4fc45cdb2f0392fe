"""MLPerf's accuracy mode: every sample once, its answer logged and compared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from surplus.loadgen.cli import main
from surplus.loadgen.clients.protocol import ModelInferResponse
from surplus.loadgen.errors import ResultError
from surplus.loadgen.mlperf.agreement import Agreement, agreement_of
from surplus.loadgen.mlperf.answers import Answers
from surplus.loadgen.mlperf.asking import Asking
from surplus.loadgen.mlperf.expected import ExpectedAnswers, read_expected
from surplus.loadgen.mlperf.params import MlperfParams
from surplus.loadgen.mlperf.result import MlperfResult, with_agreement
from surplus.loadgen.mlperf.table import mlperf_rows
from tests.loadgen.test_mlperf import StandInFeed, _samples, needs_loadgen

SAMPLES = 5


@pytest.fixture
def queries(tmp_path):
    """A folder of samples: the k-th is (k, k + 1, ...)."""
    folder = tmp_path / "set"
    folder.mkdir()
    for k, row in enumerate(_rows()):
        np.savez(folder / f"{k}.npz", **{"x:0": row, "x": row})
    return folder


def _rows():
    return [np.arange(k, k + 4, dtype=np.float32).reshape(1, 4) for k in range(SAMPLES)]


def _only(folder, name):
    """The same folder with inputs of that name alone."""
    for file in folder.glob("*.npz"):
        np.savez(file, **{name: dict(np.load(file))[name]})
    return str(folder)


def _run(identity, queries, capsys, *words):
    where = ["--url", identity.url, "--model", "identity", "--inputs", _only(queries, "x:0")]
    how = ["--mode", "accuracy", "--warmup", "0s", "--json", "-"]
    status = main(["mlperf", *words, *where, *how])
    return status, json.loads(capsys.readouterr().out)


@needs_loadgen
@pytest.mark.parametrize(
    "words",
    [
        ["single-stream"],
        ["multi-stream", "--samples", "2"],
        ["server", "--rate", "1000"],
        ["offline"],
    ],
    ids=lambda words: words[0],
)
def test_every_sample_s_answer_is_logged_and_as_expected(
    identity, queries, capsys, tmp_path, words
):
    np.savez(tmp_path / "expected.npz", **{"x:0": np.stack(_rows())})
    expect = ["--expect", str(tmp_path / "expected.npz"), "--logs", str(tmp_path / "logs")]
    status, result = _run(identity, queries, capsys, *words, *expect)
    assert (status, result["reasons"], result["asked"]["mode"]) == (0, [], "accuracy")
    assert result["figures"] == {"samples": SAMPLES}
    assert result["agreement"] == {
        "samples": SAMPLES,
        "others": [],
        "equal": SAMPLES,
        "difference": 0.0,
        "correct": None,
    }
    logged = json.loads((tmp_path / "logs" / "mlperf_log_accuracy.json").read_text())
    data = {row["qsl_idx"]: bytes.fromhex(row["data"]) for row in logged}
    assert data == {k: row.tobytes() for k, row in enumerate(_rows())}


@needs_loadgen
def test_an_answer_that_is_not_as_expected_is_named(identity, queries, capsys, tmp_path):
    wanted = np.stack(_rows())
    wanted[3] += 1
    np.savez(tmp_path / "expected.npz", **{"x:0": wanted})
    expect = ["--expect", str(tmp_path / "expected.npz")]
    status, result = _run(identity, queries, capsys, "offline", *expect)
    assert (status, result["is_valid"]) == (1, False)
    assert result["reasons"] == ["1 of 5 answers are not as expected"]
    assert (result["agreement"]["others"], result["agreement"]["difference"]) == ([3], 1.0)


@needs_loadgen
def test_labels_give_the_share_of_right_classes(identity, queries, capsys, tmp_path):
    """All answers have their largest number at the end."""
    np.savez(tmp_path / "labels.npz", labels=[3, 3, 0, 3, 1])
    labels = ["--expect", str(tmp_path / "labels.npz")]
    status, result = _run(identity, queries, capsys, "offline", *labels)
    assert (status, result["is_valid"]) == (0, True)
    assert (result["agreement"]["correct"], result["agreement"]["others"]) == (3, None)


@needs_loadgen
def test_answers_of_one_runtime_are_what_another_one_is_expected_to_say(
    small_model, queries, capsys, tmp_path
):
    words = ["mlperf", "offline", "--in-process", str(small_model), "--mode", "accuracy"]
    words += ["--inputs", _only(queries, "x"), "--warmup", "0s"]
    file = tmp_path / "answers.npz"
    assert main([*words, "--runtime", "onnxruntime", "--answers", str(file)]) == 0
    assert np.array_equal(dict(np.load(file))["y"], 2 * np.stack(_rows()))
    capsys.readouterr()
    assert main([*words, "--runtime", "surplus", "--expect", str(file)]) == 0
    table = capsys.readouterr().out
    assert "offline, accuracy" in table
    assert "5 of 5 (100.00%)" in table


@needs_loadgen
def test_as_many_answers_as_samples_are_expected(identity, queries, capsys, tmp_path):
    np.savez(tmp_path / "few.npz", labels=[1, 2])
    words = ["mlperf", "offline", "--url", identity.url, "--model", "identity", "--mode"]
    words += ["accuracy", "--inputs", _only(queries, "x:0"), "--warmup", "0s"]
    assert main([*words, "--expect", str(tmp_path / "few.npz")]) == 1
    assert "few.npz: has 2 answers, and the set 5 samples" in capsys.readouterr().err


@needs_loadgen
def test_answers_that_cannot_be_read_have_failed(identity, queries, capsys, monkeypatch, tmp_path):
    """They are in the protocol's typed contents, say."""
    make = ModelInferResponse

    def without_raw(**fields):
        return make(**{name: value for name, value in fields.items() if not name.startswith("raw")})

    monkeypatch.setitem(type(identity).infer.__globals__, "ModelInferResponse", without_raw)
    file = tmp_path / "none.npz"
    words = [
        "mlperf",
        "offline",
        "--mode",
        "accuracy",
        "--url",
        identity.url,
        "--model",
        "identity",
    ]
    words += ["--inputs", _only(queries, "x:0"), "--warmup", "0s", "--answers", str(file)]
    assert main([*words, "--json", "-"]) == 1
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["failed"] == SAMPLES
    assert "samples failed: UNREADABLE_ANSWER: outputs are read from raw" in result["reasons"][0]
    assert "none.npz: not written: 5 of 5 answers are missing" in said.err
    assert not file.exists()


def test_what_cannot_be_read_is_told_of_without_data():
    class Feed(StandInFeed):
        def answer(self, sample):
            return {"y": np.float32([sample])} if sample else {"y": "no array"}

    feed, told, answers = Feed([(0, True), (1, True), (2, False)]), [], Answers()
    asking = Asking(feed, 4, told.append, lambda sample: answers.take(feed, sample))
    asking.issue(_samples(0, 1, 2))
    asking.answer()
    assert told == [[(100, b""), (101, np.float32([1]).tobytes()), (102, b"")]]
    assert asking.failed == 2
    assert "UNREADABLE_ANSWER" in asking.said


def _expected(tmp_path, **arrays):
    np.savez(tmp_path / "e.npz", **arrays)
    return read_expected(tmp_path / "e.npz")


def test_reals_agree_nearly_and_all_else_wholly(tmp_path):
    wanted = _expected(
        tmp_path,
        y=np.float32([[1, 2], [1, 2], [np.nan, np.inf], [1, 2], [1, 2]]),
        n=np.array([1, 2, 3, 4, 5]),
    )
    answers = {
        0: {"y": np.float32([[1, 2]]), "n": np.array([1])},
        1: {"y": np.float32([[1, 2.001]]), "n": np.array([2])},
        2: {"y": np.float32([[np.nan, np.inf]]), "n": np.array([3])},
        3: {"y": np.float32([[1, 2]]), "n": np.array([5])},
    }
    found = agreement_of(answers, wanted)
    assert (found.samples, found.others, found.equal) == (5, (3, 4), 2)
    assert found.difference == pytest.approx(0.001, rel=1e-3)
    assert found.correct is None
    assert not found.is_agreed
    assert agreement_of({}, wanted).others == (0, 1, 2, 3, 4)


def test_an_output_called_labels_is_an_output(tmp_path):
    wanted = _expected(tmp_path, labels=np.array([7, 8]))
    found = agreement_of({k: {"labels": np.array([[7 + k]])} for k in range(2)}, wanted)
    assert (found.others, found.correct) == ((), None)


def test_a_label_is_what_one_number_says(tmp_path):
    wanted = _expected(tmp_path, labels=np.array([7, 8]))
    assert agreement_of({k: {"class": np.array([7])} for k in range(2)}, wanted).correct == 1


@pytest.mark.parametrize(
    ("arrays", "answer", "message"),
    [
        ({"z": np.zeros((1, 2))}, np.zeros((1, 2)), "the model has no output 'z'; it has: y"),
        ({"y": np.zeros((1, 3))}, np.zeros((1, 2)), r"e.npz: y: \[3\] a sample, and the answers"),
        ({"labels": [0.5]}, np.zeros((1, 2)), "e.npz: labels: must be one whole number a sample"),
        ({"labels": [1]}, np.zeros((2, 2)), r"output 'y' of shape \[2, 2\] is not scores"),
    ],
)
def test_what_does_not_fit_the_answers_is_said(tmp_path, arrays, answer, message):
    with pytest.raises(ResultError, match=message):
        agreement_of({0: {"y": answer}}, _expected(tmp_path, **arrays))


@pytest.mark.parametrize("arrays", [{}, {"y": 3}, {"y": np.zeros((0, 2))}, {"y": [1], "z": [1, 2]}])
def test_a_file_of_no_or_unequal_numbers_of_samples_is_refused(tmp_path, arrays):
    with pytest.raises(ResultError, match="arrays must have the samples"):
        _expected(tmp_path, **arrays)


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(ResultError, match=r"cannot read .*no.npz as .npz"):
        read_expected(tmp_path / "no.npz")


def test_answers_of_several_shapes_are_no_array(tmp_path):
    answers = Answers()

    class Feed:
        def answer(self, sample):
            return {"boxes": np.zeros((sample, 4))}

    for sample in range(2):
        answers.take(Feed(), sample)
    with pytest.raises(ResultError, match="answers differ in shape"):
        answers.write(tmp_path / "a.npz", 2)


def test_the_table_counts_and_names(tmp_path):
    agreement = Agreement(10, tuple(range(7)), 2, 0.25, 4)
    result = with_agreement(MlperfResult("6.0", True, (), {"samples": 10}, 0), agreement)
    rows = mlperf_rows(result, MlperfParams("offline", mode="accuracy"))
    assert rows == {
        "result": "INVALID: 7 of 10 answers are not as expected",
        "samples": "10",
        "as expected": "3 of 10 (30.00%)",
        "to the bit": "2 of 10 (20.00%)",
        "largest difference": "0.25",
        "not as expected": "samples 0, 1, 2, 3, 4, and 2 more",
        "top-1": "4 of 10 (40.00%)",
        "failed": "0",
        "LoadGen": "6.0",
    }


def test_nothing_is_expected_of_a_file_of_labels_alone(tmp_path):
    wanted = ExpectedAnswers(tmp_path, {"labels": np.array([1])})
    found = agreement_of({0: {"y": np.zeros((1, 3))}}, wanted)
    assert (found.others, found.correct, found.is_agreed) == (None, 0, True)
