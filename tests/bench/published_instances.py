"""Published rules against exhaustive search, and the tables of small made-up publications."""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path

import pytest

from bench.infrastructure import result_file
from bench.placement_published import __main__ as command
from bench.placement_published.max_load import least_max_load
from bench.placement_published.networks import network_row, published_ms, verdict
from bench.placement_published.plain_cpsat import plain_cpsat
from bench.placement_published.rules import (
    CPU,
    Folded,
    faults,
    folded,
    is_contiguous,
    loads_ns,
)
from surplus.placement.formats.network import PartitionEdge, PartitionedNetwork, PartitionNode
from surplus.placement.formats.problem_text import ProblemText
from surplus.placement.formats.read_params import ReadParams
from surplus.placement.formats.stg import Stg

CHAIN_GRAPH = "3\n0 0 0\n1 2 1 0\n2 3 1 0\n3 4 1 1\n4 0 2 2 3\n"
"""Three tasks: 1 before 3 takes 6, 2 beside them 3."""


def network(nodes: list[PartitionNode], edges: list[PartitionEdge], **more: int) -> Folded:
    given = {"accelerators": 2, "cpus": 1, "accelerator_bytes": 100, **more}
    return folded(
        PartitionedNetwork("net", "layer", nodes=tuple(nodes), edges=tuple(edges), **given)
    )


def node(index: int, cpu: int, away: int, **more: object) -> PartitionNode:
    given = {"is_backward": False, "colour": None, "size_bytes": 1, "on_accelerator": True, **more}
    return PartitionNode(id=index, cpu_ns=cpu, accelerator_ns=away, **given)  # type: ignore[arg-type]


CHAIN = network(
    [node(7, 9, 4), node(8, 9, 5), node(9, 9, 6)],
    [PartitionEdge(7, 8, 10), PartitionEdge(7, 9, 10), PartitionEdge(8, 9, 20)],
)


def test_what_is_moved_counts_once_a_device_and_not_on_the_cpu() -> None:
    assert loads_ns(CHAIN, (0, 1, 1)) == {0: 4 + 10, 1: 5 + 6 + 10}
    assert loads_ns(CHAIN, (0, 1, 0)) == {0: 4 + 6 + 10 + 20, 1: 5 + 10 + 20}
    assert loads_ns(CHAIN, (0, CPU, 0)) == {0: 4 + 6 + 10 + 20, CPU: 9}
    assert loads_ns(CHAIN, (0, 0, 0)) == {0: 15}


def test_contiguous_are_sets_that_stand_in_a_line() -> None:
    assert is_contiguous(CHAIN, (0, 1, 1))
    assert is_contiguous(CHAIN, (1, CPU, 0))
    assert not is_contiguous(CHAIN, (0, 1, 0))
    crossed = network(
        [node(i, 1, 1) for i in range(4)], [PartitionEdge(0, 1, 1), PartitionEdge(2, 3, 1)]
    )
    # Each set is contiguous by itself; each waits for the other.
    assert not is_contiguous(crossed, (0, 1, 1, 0))


def test_classes_share_a_device_and_backward_edges_bind_nothing() -> None:
    problem = network(
        [node(0, 1, 2, colour=5), node(1, 1, 3), node(2, 1, 4, colour=5, is_backward=True)],
        [PartitionEdge(0, 1, 1), PartitionEdge(1, 2, 1)],
    )
    assert [row.nodes for row in problem.classes] == [(0, 2), (1,)]
    assert problem.classes[0].accelerator_ns == 6
    assert problem.before == ((0, 1),)


def test_memory_and_what_no_accelerator_runs_bind() -> None:
    problem = network(
        [node(0, 50, 1, size_bytes=60), node(1, 50, 1, size_bytes=60),
         node(2, 70, 1, on_accelerator=False)], [],
    )  # fmt: skip
    assert faults(problem, (0, 0, CPU)) == ["accelerator 0: 120 bytes"]
    assert faults(problem, (0, 1, 1)) == ["node 2: no accelerator runs it"]
    found = least_max_load(problem, 20.0, contiguous=True)
    assert (found.load_ns, found.is_proven) == (70, True)
    assert faults(problem, found.device_of) == []


def random_network(seed: int) -> Folded:
    rng = random.Random(seed)
    count = rng.randint(4, 6)
    nodes = [
        node(
            i,
            rng.randint(5, 40),
            rng.randint(1, 20),
            size_bytes=rng.randint(1, 40),
            colour=rng.choice([None, None, 1]),
            on_accelerator=rng.random() < 0.9,
        )
        for i in range(count)
    ]
    moves = [rng.randint(0, 12) for _ in nodes]
    edges = [
        PartitionEdge(a, b, moves[a])
        for a, b in itertools.combinations(range(count), 2)
        if rng.random() < 0.5
    ]
    return network(nodes, edges)


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_the_least_largest_load_is_that_of_all_assignments(seed: int, contiguous: bool) -> None:
    problem = random_network(seed)
    least = min(
        max(loads_ns(problem, devices).values())
        for devices in itertools.product((CPU, 0, 1), repeat=len(problem.classes))
        if not faults(problem, devices) and (is_contiguous(problem, devices) or not contiguous)
    )
    found = least_max_load(problem, 20.0, contiguous=contiguous)
    assert found.load_ns == found.bound_ns == least
    assert found.is_proven
    again = least_max_load(problem, 20.0, contiguous=contiguous, start=found.device_of)
    assert again.load_ns == least


@pytest.mark.parametrize(
    ("load_ns", "is_proven", "published", "said"),
    [
        (3_000_000, True, 3.0, "reproduced, proven"),
        (3_000_002, False, 3.0, "reproduced"),
        (2_900_000, True, 3.0, "less"),
        (3_100_000, True, 3.0, "more, proven"),
        (3_100_000, False, 3.0, "more"),
        (3_100_000, True, None, "proven"),
        (None, False, 3.0, "nothing found"),
    ],
)
def test_verdicts(load_ns: int | None, is_proven: bool, published: float, said: str) -> None:
    assert verdict(load_ns, is_proven, published) == said


def published(folder: Path) -> Path:
    """A publication of one graph and one network."""
    graphs, networks = folder / "stg", folder / "dnn_partitioning"
    (graphs / "3").mkdir(parents=True)
    networks.mkdir()
    (graphs / "3" / "a.stg").write_text(CHAIN_GRAPH)
    head = "graph,makespan_2,makespan_4,makespan_8,makespan_16\n"
    (graphs / "optima.csv").write_text(f"{head}3/a.stg,6,6,,7\n")
    rows = [[0, 1, 9.0, 4.0, 0, None, 1.0], [1, 1, 9.0, 5.0, 0, None, 1.0]]
    raw = {
        "name": "tiny", "granularity": "layer", "accelerators": 2, "cpus": 1,
        "accelerator_bytes": 1e9, "nodes": rows, "edges": [[0, 1, 1.0]],
    }  # fmt: skip
    (networks / "throughput-tiny.json").write_text(json.dumps(raw))
    (networks / "optima.csv").write_text("graph,contiguous_max_load\nthroughput-tiny.json,6\n")
    return folder


def test_a_network_is_solved_by_its_rules_and_as_a_problem(tmp_path: Path) -> None:
    folder = published(tmp_path) / "dnn_partitioning"
    (name, known), = published_ms(folder).items()  # fmt: skip
    row = network_row(folder, name, known, 20.0)
    assert (row["contiguous"], row["any set"], row["verdict"]) == (6.0, 6.0, "reproduced, proven")
    assert row["as a problem"] == 5.0, "there copies run beside tasks"


def test_plain_cpsat_finds_what_is_known() -> None:
    problem = Stg().read(ProblemText(CHAIN_GRAPH, "a"), ReadParams(processors=2))
    found = plain_cpsat(problem, 20.0, 1)
    assert (found.makespan_ns, found.bound_ns, found.is_proven) == (6_000, 6_000, True)


def test_the_command_tells_which_bars_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(result_file, "RESULTS", tmp_path / "results")
    words = ["--data", str(published(tmp_path)), "--graph-s", "5", "--network-s", "5"]
    monkeypatch.setattr(sys, "argv", ["placement_published", *words])
    assert command.main() == 0
    bars = {row["what"]: row for row in result_file.read_rows(result_file.path_of(command.BARS))}
    assert bars["the published best or better"]["of"] == 3
    assert bars["proven"]["of"] == 4
    assert all(row["holds"] == "yes" for row in bars.values())
    graphs = result_file.read_rows(result_file.path_of(command.GRAPHS))
    assert [(row["processors"], row["makespan"]) for row in graphs] == [
        (2, 6), (4, 6), (8, 6), (16, 6),
    ]  # fmt: skip
    assert "CP-SAT alone" in capsys.readouterr().out


def test_data_that_is_not_there_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["placement_published", "--data", str(tmp_path)])
    assert command.main() == 2
    assert "optima.csv" in capsys.readouterr().err
