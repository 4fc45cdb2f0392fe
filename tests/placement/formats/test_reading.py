"""Any format, found by its name or by looking at the file."""

import json
from pathlib import Path

import pytest

from surplus.milp.cli import main as solve
from surplus.placement import Problem, ProblemError
from surplus.placement.formats import FORMATS, ProblemText, ReadParams, read_problem
from surplus.placement.formats.__main__ import main as convert
from surplus.placement.random_graphs import small_random
from tests.placement.formats.fixture_files import FILES


@pytest.fixture
def file_of(tmp_path):
    """A file of each format."""

    def find(name):
        if name != "surplus":
            return FILES[name]
        path = tmp_path / "ours.json"
        path.write_text(small_random(3, 5).to_json())
        return path

    return find


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_recognised_by_its_format_alone(file_of, name):
    path = file_of(name)
    text = ProblemText(path.read_text(), path.stem)
    assert [known for known, one in FORMATS.items() if one.recognises(text)] == [name]
    assert read_problem(path) == read_problem(path, name)


@pytest.mark.parametrize("name", FORMATS)
def test_every_command_takes_a_file_of_any_format(file_of, name, capsys):
    path = str(file_of(name))
    assert convert([path]) == 0
    printed = capsys.readouterr().out
    assert Problem.from_json(printed) == read_problem(Path(path))
    assert solve([path, "--time", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] == json.loads(printed)["name"]
    assert solve([path, "--format", name, "--time", "5"]) == 0


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
def test_another_format_than_the_files_is_refused_in_a_line(file_of, name, other):
    if name != other:
        with pytest.raises(ProblemError, match=r"^[^\n]+: [^\n]+$"):
            read_problem(file_of(name), other)


@pytest.mark.parametrize("cut", range(0, 45, 4))
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_breaks_off_is_named(file_of, name, cut, tmp_path):
    path = tmp_path / "short"
    path.write_bytes(file_of(name).read_bytes()[:cut])
    with pytest.raises(ProblemError) as caught:
        read_problem(path, name)
    assert str(caught.value).startswith(f"{path}: ")


def test_processors_are_asked_for_where_the_file_has_none(tmp_path, capsys):
    assert convert([str(FILES["stg"]), "--processors", "5"]) == 0
    assert Problem.from_json(capsys.readouterr().out).devices[0].lanes == 5
    ours = tmp_path / "ours.json"
    ours.write_text(small_random(3, 5).to_json())
    assert convert([str(ours), "--processors", "5"]) == 2
    assert "the file says its own" in capsys.readouterr().err
    assert convert([str(FILES["stg"]), "--processors", "0"]) == 2
    assert "processors must be 1 to 4096, got 0" in capsys.readouterr().err
    with pytest.raises(ValueError, match="processors must be 1 to 4096"):
        ReadParams(processors=5_000)


def test_an_unknown_format_and_an_unknown_file(tmp_path):
    with pytest.raises(ValueError, match="unknown format 'dot'; there are: surplus, stg"):
        read_problem(FILES["stg"], "dot")
    path = tmp_path / "what.txt"
    path.write_text("digraph {}")
    with pytest.raises(ProblemError, match=r"what.txt: problem: not JSON"):
        read_problem(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ProblemError, match=r"what.txt: no text in utf-8"):
        read_problem(path)
