"""What the cache holds can be listed, pruned and bounded; what is loaded stays."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import surplus
from surplus import models
from surplus.engine.cli.main import main
from surplus.engine.store.cache_limit import LIMIT_VARIABLE
from surplus.engine.store.model_folders import model_folders

DAY_S = 86_400


def load(folder: Path, size: int, **options: object) -> surplus.Model:
    path = folder / f"chain{size}.onnx"
    if not path.exists():
        models.save(models.build("chain", length=2, size=size, kind="matmul"), path)
    return surplus.load(path, "cpu:1", cache=folder / "cache", tune="now", **options)


def aged(folder: Path, days: float) -> None:
    """As if everything had been used that much earlier."""
    for found in model_folders(folder / "cache"):
        for file in (found.path, found.path / "in-use.lock"):
            before = file.stat().st_mtime - days * DAY_S
            os.utime(file, (before, before))


def listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["cache", "list", "--json", "--cache", str(folder / "cache")]) == 0
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return rows


def prune(folder: Path, *words: str) -> int:
    gc.collect()  # models that a test has let go
    return main(["cache", "prune", "--cache", str(folder / "cache"), *words])


def test_models_are_listed_by_their_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _ = load(tmp_path, 8), load(tmp_path, 16)
    rows = listed(tmp_path, capsys)
    assert {Path(str(row["source"])).name for row in rows} == {"chain8.onnx", "chain16.onnx"}
    assert all(row["plans"] == 1 and row["in_use"] for row in rows)
    for row in rows:
        size = sum(f.stat().st_size for f in Path(str(row["path"])).rglob("*") if f.is_file())
        assert row["size_bytes"] == size > 0
    assert main(["cache", "list", "--cache", str(tmp_path / "cache")]) == 0
    out = capsys.readouterr().out
    assert "chain16.onnx" in out
    assert "now" in out
    del first


def test_what_is_not_used_goes_and_what_is_loaded_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(tmp_path, 8)
    held = load(tmp_path, 16)
    aged(tmp_path, 40)
    load(tmp_path, 24)
    assert prune(tmp_path, "--unused-for", "30d") == 0
    rows = listed(tmp_path, capsys)
    assert {Path(str(row["source"])).name for row in rows} == {"chain16.onnx", "chain24.onnx"}
    assert not list((tmp_path / "cache").glob(".removed-*"))
    assert np.isfinite(held.run({"x": np.ones((1, 16), np.float32)})["y"]).all()
    assert load(tmp_path, 8).plan  # made again


def test_of_a_limit_the_last_used_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for size in (8, 16, 24):
        load(tmp_path, size)
        gc.collect()
        aged(tmp_path, 1)
    sizes = [found.size_bytes for found in model_folders(tmp_path / "cache")]
    assert prune(tmp_path, "--limit", str(sizes[0] + sizes[1])) == 0
    left = [Path(str(row["source"])).name for row in listed(tmp_path, capsys)]
    assert left == ["chain24.onnx", "chain16.onnx"]
    assert prune(tmp_path, "--limit", "1", "--json") == 0
    assert listed(tmp_path, capsys) == []


def test_another_process_holds_its_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    load(tmp_path, 8)
    gc.collect()
    code = (
        "import sys, surplus; model = surplus.load(sys.argv[1], 'cpu:1', cache=sys.argv[2],"
        " tune='now'); print('loaded', flush=True); sys.stdin.read()"
    )
    words = (str(tmp_path / "chain8.onnx"), str(tmp_path / "cache"))
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "loaded\n"
        aged(tmp_path, 40)
        assert prune(tmp_path, "--limit", "1") == 0
        assert [row["in_use"] for row in listed(tmp_path, capsys)] == [True]
        process.communicate("")
    assert prune(tmp_path, "--limit", "1") == 0
    assert listed(tmp_path, capsys) == []


def test_a_limit_holds_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1kB")
    load(tmp_path, 8)
    gc.collect()
    aged(tmp_path, 1)
    load(tmp_path, 16)
    rows = listed(tmp_path, capsys)
    assert [Path(str(row["source"])).name for row in rows] == ["chain16.onnx"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], "--unused-for or --limit say what is to go"),
        (["--limit", "much"], "size 'much' is not understood"),
        (["--unused-for", "long"], "expected a duration such as 50ms, got 'long'"),
    ],
)
def test_what_is_wrong_is_said(
    tmp_path: Path, words: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prune(tmp_path, *words) == 1
    assert wanted in capsys.readouterr().err


def test_an_empty_cache_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(tmp_path, capsys) == []
    assert prune(tmp_path, "--limit", "1GiB") == 0
    assert "nothing is removed" in capsys.readouterr().out
