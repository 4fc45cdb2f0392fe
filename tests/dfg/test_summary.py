"""What is kept of a graph beside its model is the graph's own, or not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from surplus.engine.cache.notes import read_note, write_note
from surplus.engine.dfg import onnx_reader
from surplus.engine.dfg.graph import Graph
from surplus.engine.dfg.onnx_reader import read
from surplus.engine.dfg.summarise import summary_of
from surplus.engine.dfg.summary_file import SUMMARY_FILE


def unlooked(graph: Graph) -> bool:
    """Whether nobody has read what grows with the number of tasks."""
    return graph._content is None


def test_a_second_read_has_the_same_summary_and_no_content(rich: Path, tmp_path: Path) -> None:
    first = read(rich, tmp_path / "cache")
    second = read(rich, tmp_path / "cache")
    assert unlooked(second)
    assert second.summary == first.summary == summary_of(first.content)
    assert (second.default_inputs, second.constant_outputs) == (("d",), ("w",))
    assert [t.name for t in second.summary.inputs] == ["x", "flag", "d"]
    assert second.summary.inputs[0].shape == ("n", 32)
    assert second.summary.task_count == 5
    assert unlooked(second)
    assert second.tensors == first.tensors
    assert not unlooked(second)
    assert unlooked(second.unread())


def test_a_graph_just_read_is_not_parsed_again(rich: Path, tmp_path: Path, monkeypatch) -> None:
    graph = read(rich, tmp_path / "cache")
    monkeypatch.setattr(onnx_reader, "parse", None)
    assert len(graph.tasks) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"format": "surplus-graph-summary/1"}',
        '{"format": "of another version", "model": [], "summary": {}}',
    ],
)
def test_a_damaged_summary_costs_only_time(rich: Path, tmp_path: Path, text: str) -> None:
    first = read(rich, tmp_path / "cache")
    (first.folder / SUMMARY_FILE).write_text(text)
    assert read(rich, tmp_path / "cache").summary == first.summary
    assert unlooked(read(rich, tmp_path / "cache"))


def test_a_summary_that_lacks_a_field_is_made_again(rich: Path, tmp_path: Path) -> None:
    first = read(rich, tmp_path / "cache")
    note = first.folder / SUMMARY_FILE
    for field in read_note(note)["summary"]:
        document = read_note(note)
        del document["summary"][field]
        write_note(note, document)
        assert read(rich, tmp_path / "cache").summary == first.summary


def test_a_summary_of_another_file_is_made_again(rich: Path, tmp_path: Path) -> None:
    first = read(rich, tmp_path / "cache")
    model = first.folder / "model.onnx"
    os.utime(model, ns=(1, 1))
    assert not unlooked(read(rich, tmp_path / "cache"))
    assert unlooked(read(rich, tmp_path / "cache"))


def test_a_folder_that_cannot_take_it_costs_only_memory(rich: Path, tmp_path: Path) -> None:
    first = read(rich, tmp_path / "cache")
    (first.folder / SUMMARY_FILE).unlink()
    (first.folder / SUMMARY_FILE).mkdir()
    second = read(rich, tmp_path / "cache")
    assert second.summary == first.summary
