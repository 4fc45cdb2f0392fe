import json

import pytest

from bench import render, result_file
from bench.timing import Times, interleaved


def test_tables_are_made_from_their_json_and_prose_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    document = {
        "machine": {
            "date": "2026-01-01",
            "processor": "P",
            "cores": 2,
            "onnxruntime": "1.31",
            "commit": "abc",
        },
        "rows": [{"model": "a", "ratio": 0.987654}],
    }
    (tmp_path / "speed.json").write_text(json.dumps(document))
    page = "before\n<!-- table speed -->\nold\n<!-- end -->\nafter\n"
    made = render.rendered(page)
    assert made.startswith("before\n")
    assert made.endswith("after\n")
    assert "| model | ratio |\n|---|---|\n| a | 0.988 |" in made
    assert "old" not in made
    assert render.rendered(made) == made


def test_every_table_of_the_page_has_its_result():
    names = render._TABLE.findall(render.PAGE.read_text())
    assert names
    assert all((result_file.RESULTS / f"{name}.json").exists() for name in names)


def test_contenders_take_turns_and_first_runs_are_not_counted():
    order = []
    times = interleaved(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")},
        rounds=2,
        most_per_block=1,
    )
    assert order == ["a", "b", "a", "a", "b", "b", "b", "b", "a", "a"]
    assert [len(row) for row in times["a"].rounds] == [1, 1]


def test_ratios_are_taken_within_rounds():
    slow = Times(((200, 200), (20, 20), (20, 20)))
    fast = Times(((100, 100), (10, 10), (10, 10)))
    assert slow.ratio_to(fast) == pytest.approx(2.0)
    assert fast.percentile_ns(99) == 100
