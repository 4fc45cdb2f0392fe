"""What is rehearsed: every kind of piece of a simulation, and all cuts once it cuts one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from surplus.colocation.frame.deployment import Assignment, Deployment
from surplus.colocation.frame.load import Load, Stream, merge
from surplus.colocation.frame.query import Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Partition, Service
from surplus.colocation.frame.work import Group, Piece, piece_of
from surplus.colocation.simulation.simulator import Run
from surplus.engine.scheduling.rehearsal import RehearsedPart, parts_of, rehearse, run_parts
from tests.scheduling.stage import CHAIN, Stage


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


def services(*operators: int, max_batch: int = 1) -> tuple[Service, ...]:
    return tuple(Service(f"s{k}", 100, max_batch, n) for k, n in enumerate(operators))


def test_whole_pieces_stay_whole_and_batches_come_in_all_sizes() -> None:
    load = load_of(2, 1)
    (first, second), (other,) = queries(load, 0), queries(load, 1)
    alone, both = piece_of((first, second), 0, 2), (piece_of((first,), 0, 2),)
    record = record_of(load, (alone,), (*both, piece_of((other,), 0, 3)))
    found = parts_of(record, load, services(2, 3, max_batch=3))
    batches = [RehearsedPart(0, (1,) * number, 0, 2) for number in (1, 2, 3)]
    assert found == [
        *batches,
        RehearsedPart(0, (1,), 0, 2, 0, 2),
        RehearsedPart(1, (1,), 0, 3, 0, 2),
    ]


def test_who_cuts_one_model_may_cut_all_of_them_anywhere() -> None:
    load = load_of(1, 1)
    (own,), (other,) = queries(load, 0), queries(load, 1)
    record = record_of(load, (piece_of((own,), 0, 1),), (piece_of((other,), 0, 2),))
    found = parts_of(record, load, services(3, 2))
    ends = {(part.service, part.start, part.end) for part in found}
    first = {(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 2), (0, 1, 3), (0, 2, 3)}
    assert ends == first | {(1, 0, 1), (1, 0, 2), (1, 1, 2)}


def test_what_was_rehearsed_is_there_when_it_counts(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN], [3])
    stage.inputs.update({query: {"x": np.ones((1, 3), np.float32)} for query in range(9)})
    parts = [RehearsedPart(0, (1,), 1, 3), RehearsedPart(0, (1,), 0, 3, 0, 2)]
    run_parts(stage.backend, {Partition(0, 100): parts})
    spans = {(key[0], key[1], key[3]) for key in stage.models[0].parts._known}
    assert spans == {(0, 1, 2), (1, 3, 2), (0, 3, 1)}  # on two lanes, and on one beside another


def test_services_are_rehearsed_where_they_have_a_place(tmp_path: Path) -> None:
    stage = Stage(tmp_path, [CHAIN, CHAIN.replace("chain", "other")], [1, 1])
    stage.inputs.update({query: {"x": np.ones((1, 3), np.float32)} for query in range(9)})
    load = load_of(1, 1)
    (own,), (other,) = queries(load, 0), queries(load, 1)
    record = record_of(load, (piece_of((own,), 0, 1),), (piece_of((other,), 0, 1),))
    halves = Deployment(
        (Partition(0, 100), Partition(0, 50)),
        tuple(Assignment(service, place, 1) for service, place in ((0, 0), (1, 0), (1, 1))),
    )
    rehearse(stage.backend, Run("any", halves, record), load, services(1, 1))
    widths = [{key[3] for key in model.parts._known} for model in stage.models]
    assert widths == [{2}, {1, 2}]
