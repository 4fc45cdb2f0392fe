import json
import subprocess
from pathlib import Path

import pytest

from bench.infrastructure import result_file
from bench.infrastructure.columns import to_columns, to_rows

LONG = [
    {
        "model": f"a model with a long name, number {number % 3}",
        "batch": number,
        "ratio": float(number % 5),
        "note": None,
        "policies": {"fcfs": {"goodput": number / 7}, "edf": {"goodput": 1}},
    }
    for number in range(200)
]


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(result_file, "RESULTS", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "rows",
    [
        LONG,
        LONG[:1],
        [{"a": 1}, {"a": 1.0}, {"a": True}],  # equal, and told apart
        [
            {"values": {"b": 1, "at": []}},
            {"values": {"b": 2, "at": [1]}},
        ],  # keys of the form itself
        [{"a": {"b": 1}}, {"a": {"c": 1}}],
        [{"a": {}}, {"a": {}}],
    ],
)
def test_columns_are_the_same_rows(rows):
    columns = to_columns(rows)
    found = to_rows(json.loads(json.dumps(columns)))
    assert repr(found) == repr(rows)  # types and the order of keys, too


@pytest.mark.parametrize(
    "rows", [[], [{}, {}], [{"a": 1}, {"b": 1}], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]]
)
def test_rows_of_different_keys_are_no_columns(rows):
    assert to_columns(rows) is None


def test_columns_of_different_lengths_are_an_error():
    with pytest.raises(ValueError, match="shorter"):
        to_rows({"a": [1, 2], "b": [1]})


def test_long_tables_are_stored_as_columns_short_ones_as_rows(results):
    where = {"processor": "P"}
    long = result_file.write("long", {"seed": 1}, LONG, where)
    short = result_file.write("short", {"seed": 1}, LONG[:2], where)
    assert json.loads(short.read_text())["rows"] == LONG[:2]
    assert "rows" not in json.loads(long.read_text())
    assert long.stat().st_size < len(json.dumps(LONG)) / 3
    assert len(long.read_text().splitlines()) < 20  # a column a line
    assert result_file.read_rows(long) == LONG
    assert result_file.read_rows(short) == LONG[:2]
    assert json.loads(long.read_text())["config"] == {"seed": 1}


def test_a_table_that_nobody_would_read_is_packed_and_found(results, monkeypatch):
    plain = result_file.write("grows", {"seed": 1}, LONG, {})
    assert plain.suffix == ".json"
    monkeypatch.setattr(result_file, "PACKED_BYTES", 1_000)
    packed = result_file.write("grows", {"seed": 1}, LONG, {})
    assert result_file.path_of("grows") == packed == results / "grows.json.gz"
    assert not plain.exists()
    assert result_file.read_rows(packed) == LONG
    assert result_file.read_document(packed)["config"] == {"seed": 1}
    first = packed.read_bytes()
    assert result_file.write("grows", {"seed": 1}, LONG, {}).read_bytes() == first
    assert result_file.write("grows", {}, LONG[:1], {}) == plain == result_file.path_of("grows")
    assert not packed.exists()


def test_a_table_that_is_not_whole_yet_stays_as_it_is(results, monkeypatch):
    monkeypatch.setattr(result_file, "PACKED_BYTES", 0)
    assert result_file.write("grows.part", {}, LONG, {}) == results / "grows.part.json"


def test_long_tables_of_different_keys_stay_rows(results):
    rows = [*LONG, {"model": "another"}]
    path = result_file.write("mixed", {}, rows, {})
    assert result_file.read_document(path)["rows"] == rows
    assert result_file.read_rows(path) == rows


def test_the_commit_is_dirty_by_what_was_changed_but_not_by_results(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=e@e")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    results = tmp_path / "bench/results"
    results.mkdir(parents=True)
    (tmp_path / "code.py").write_text("1")
    (results / "a.json").write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    (results / "a.json").write_text("2")
    clean = result_file._commit(tmp_path)
    assert not clean.endswith("-dirty")
    assert result_file.uncommitted(tmp_path) == []
    (tmp_path / "code.py").write_text("2")
    assert result_file.uncommitted(tmp_path) == ["code.py"]
    assert result_file._commit(tmp_path) == f"{clean}-dirty"


def test_what_a_row_lacks_is_empty_in_its_table():
    table = result_file.markdown([{"model": "a"}, {"model": "b", "ratio": 2.0}])
    assert table.splitlines()[2:] == ["| a |  |", "| b | 2 |"]
