"""What is rehearsed: every kind of piece of a simulation, and all cuts once it cuts one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from live_stage import CHAIN, Stage

from colocation.load import Load, Stream, merge
from colocation.query import Query
from colocation.record import Record
from colocation.service import Partition
from colocation.work import Group, Piece, piece_of
from engine.live.rehearsal import Part, parts_of, rehearse


def load_of(*counts: int) -> Load:
    streams = [Stream(np.arange(n), np.ones(n, np.int64), np.zeros(n, np.int64)) for n in counts]
    return merge(streams, [100] * len(counts), 100)


def record_of(load: Load, *groups: tuple[Piece, ...]) -> Record:
    record = Record(len(load))
    for number, pieces in enumerate(groups):
        record.group_started(Group(number, 0, pieces, 0, 0))
    return record


def queries(load: Load, service: int) -> tuple[Query, ...]:
    return tuple(query for query in load.queries() if query.service == service)


def test_whole_pieces_stay_whole() -> None:
    load = load_of(2, 1)
    (first, second), (other,) = queries(load, 0), queries(load, 1)
    alone, both = piece_of((first, second), 0, 2), (piece_of((first,), 0, 2),)
    record = record_of(load, (alone,), (*both, piece_of((other,), 0, 3)))
    found = parts_of(record, load, (2, 3))
    assert found == [Part(0, (1, 1), 0, 2), Part(0, (1,), 0, 2, 0, 2), Part(1, (1,), 0, 3, 0, 2)]


def test_who_cuts_one_model_may_cut_all_of_them_anywhere() -> None:
    load = load_of(1, 1)
    (own,), (other,) = queries(load, 0), queries(load, 1)
    record = record_of(load, (piece_of((own,), 0, 1),), (piece_of((other,), 0, 2),))
    found = parts_of(record, load, (3, 2))
    ends = {(part.service, part.start, part.end) for part in found}
    first = {(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 2), (0, 1, 3), (0, 2, 3)}
    assert ends == first | {(1, 0, 1), (1, 0, 2), (1, 1, 2)}


def test_what_was_rehearsed_is_there_when_it_counts(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [3])
    stage.inputs.update({query: {"x": np.ones((1, 3), np.float32)} for query in range(9)})
    parts = [Part(0, (1,), 1, 3), Part(0, (1,), 0, 3, 0, 2)]
    rehearse(stage.backend, [Partition(0, 100)], parts)
    spans = {(first, last, width) for first, last, _, width, _ in stage.models[0].parts._known}
    assert spans == {(0, 1, 2), (1, 3, 2), (0, 3, 1)}  # on two lanes, and on one beside another
