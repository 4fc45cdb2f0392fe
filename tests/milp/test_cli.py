import json
import sys

import pytest

from surplus.milp.cli import main
from surplus.placement import Task
from tests.milp.problems import edge, two_devices


@pytest.fixture
def problem_file(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(two_devices([(10, 4), (10, 4), (3, 9)], [edge(0, 2, size=2)]).to_json())
    return path


def test_a_table_by_default(problem_file, capsys):
    assert main([str(problem_file), "--time", "10"]) == 0
    shown = capsys.readouterr()
    assert "status     optimal" in shown.out
    assert "t2" in shown.out
    assert "bound" in shown.err


def test_json_on_request_and_to_a_file(problem_file, tmp_path, capsys):
    target = tmp_path / "out.json"
    assert main([str(problem_file), "--json", "-o", str(target)]) == 0
    printed = json.loads(capsys.readouterr().out)
    written = json.loads(target.read_text())
    assert printed["status"] == "optimal"
    assert printed["makespan_ns"] >= printed["bound_ns"]
    assert [row["name"] for row in written["tasks"]] == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "problem: not JSON"),
        (b"{}", "field 'format' must be"),
        (b'{"format": "surplus-problem/1"}', "missing required field `name`"),
        (b"\xff", "utf-8"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path, capsys, content, message):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    assert main([str(path)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_missing_file_is_one_clear_line(tmp_path, capsys):
    assert main([str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


def test_a_bad_option_is_one_clear_line(problem_file, capsys):
    assert main([str(problem_file), "--time", "0"]) == 2
    assert "time_limit_s must be > 0" in capsys.readouterr().err


def test_no_plan_is_not_success(tmp_path, capsys):
    path = tmp_path / "problem.json"
    heavy = [Task("w", "Op", (5, 1), weight_bytes=60)]
    path.write_text(two_devices(heavy, memory_bytes=(10, 10)).to_json())
    assert main([str(path)]) == 1
    assert "infeasible" in capsys.readouterr().out


def test_a_bound_above_a_plan_is_a_status_of_its_own(problem_file, capsys, monkeypatch):
    search = sys.modules["surplus.milp.search"]
    monkeypatch.setattr(search, "combinatorial_bound_ns", lambda problem: 12_345)
    assert main([str(problem_file)]) == 70
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "bound of 12345 ns is above a plan of " in shown.err


def test_a_stored_result_is_judged_from_the_files_alone(problem_file, tmp_path, capsys):
    stored = tmp_path / "out.json"
    assert main([str(problem_file), "-o", str(stored)]) == 0
    capsys.readouterr()
    assert main([str(problem_file), "--check", str(stored)]) == 0
    assert "no faults" in capsys.readouterr().out
    document = json.loads(stored.read_text())
    document["tasks"][2]["end_ns"] += 1
    stored.write_text(json.dumps(document))
    assert main([str(problem_file), "--check", str(stored)]) == 1
    assert "duration: 't2' lasts" in capsys.readouterr().out
    stored.write_text("{}")
    assert main([str(problem_file), "--check", str(stored)]) == 2
    assert "result: field 'format' must be" in capsys.readouterr().err


def test_progress_is_stored_and_drawn(problem_file, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    stored, plot = tmp_path / "out.json", tmp_path / "gap.svg"
    assert main([str(problem_file), "-o", str(stored), "--plot", str(plot)]) == 0
    capsys.readouterr()
    document = json.loads(stored.read_text())
    last = document["progress"][-1]
    assert (last["makespan_ns"], last["bound_ns"]) == (
        document["makespan_ns"],
        document["bound_ns"],
    )
    assert "<svg" in plot.read_text()
    assert main([str(problem_file), "--check", str(stored)]) == 0


def test_a_plot_that_cannot_be_drawn_is_one_clear_line(problem_file, capsys):
    assert main([str(problem_file), "--plot", "gap.txt"]) == 2
    assert "a plot is one of" in capsys.readouterr().err
