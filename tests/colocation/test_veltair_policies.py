"""VELTAIR's dispatcher and its baselines on a model of four layers, worked by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as with_

import pytest

from surplus.colocation import policy_spec, simulate
from surplus.colocation.clairvoyant.cheapest_cores import CheapestCores, cheapest
from surplus.colocation.foresight.imagined import believed_interference
from surplus.colocation.frame.planner import PLANNERS, Demand
from surplus.colocation.frame.predictor import PREDICTORS
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.service import Service, ServingDevice
from surplus.colocation.frame.state import State
from surplus.colocation.frame.work import Group, piece_of
from surplus.colocation.policies.names import with_options
from surplus.colocation.policies.veltair import prema
from surplus.colocation.policies.veltair.block_choice import BlockChoice, BlockParams, layered
from surplus.colocation.policies.veltair.layer_profile import LayerProfile
from surplus.colocation.policies.veltair.rooms import Room
from surplus.colocation.profiles.affine import Affine
from surplus.colocation.randomness.draws import stream_of
from surplus.colocation.randomness.noise import NOISES
from surplus.colocation.results.validate import check_run
from surplus.colocation.simulation.simulator import Setting
from surplus.colocation.truths.layer_truth import LayerTruth
from tests.colocation.settings import MS, group_of, load_of

# Milliseconds of the layers on 2, 4 and 8 cores; the third layer needs more than the others.
CORES = (2, 4, 8)
TABLE = ((4, 2, 1), (4, 2, 1), (16, 8, 4), (4, 2, 1))


@dataclass(frozen=True)
class Small:
    """A model of four layers; a second version takes twice as long."""

    cores: tuple[int, ...] = CORES
    operations: tuple[int, ...] = (1, 1, 1, 1)
    sensitivities: tuple[float, ...] = (0.0,)

    def latency_ns(self, items: int, sequence: int, share_percent: int) -> int:
        return items * MS * 28 * 2 // max(2, 8 * share_percent // 100)

    def spread(self, items: int, sequence: int) -> float:
        return 0.0

    def operator_ns(self, items: int, sequence: int, version: int) -> list[list[int]]:
        return [[items * (version + 1) * ms * MS for ms in row] for row in TABLE]


def setting(arrivals_ms: list[float], slo_ms: float = 20, cores: int = 8) -> Setting:
    return setting_of([(slo_ms, arrivals_ms)], cores)


def setting_of(loads_ms: list[tuple[float, list[float]]], cores: int = 8) -> Setting:
    """A service for each target and its arrivals, all of the small model."""
    services = tuple(
        Service(name, round(slo_ms * MS), operators=4)
        for name, (slo_ms, _) in zip("abc", loads_ms, strict=False)
    )
    load = load_of(services, [arrivals_ms for _, arrivals_ms in loads_ms])
    one = (1,) * len(services)
    profiles = (Small(),) * len(services)
    demand = Demand(
        services,
        profiles,
        (1.0,) * len(services),
        one,
        (0,) * len(services),
        (ServingDevice("cpu", cores=cores),),
    )
    truth = LayerTruth(services, profiles, NOISES.make("none"), 1)
    return Setting(demand, load, truth, spawn_ns=MS)


def run(policy: str, own: Setting, **options: object) -> Record:
    done = simulate(own, with_options(policy_spec(policy), options))
    check_run(own.load, own.demand.services, done.deployment, done.record)
    return done.record


def rows(record: Record) -> list[tuple[int, int, int, float]]:
    """First layer, end, cores and start in ms of each group."""
    return [
        (record.piece_start[k], record.piece_end[k], cores, record.group_start_ns[k] / MS)
        for k, cores in enumerate(record.group_cores)
    ]


def test_a_model_as_a_whole_waits_for_its_cores() -> None:
    # 28 ms on two cores, 14 on four, 7 on eight; 20 ms need four.
    record = run("model_wise", setting([0, 1, 2]))
    assert rows(record) == [(0, 4, 4, 0), (0, 4, 4, 1), (0, 4, 4, 14)]


def test_layer_by_layer_each_has_what_it_needs() -> None:
    # 5 ms for each layer: two cores do in 4 ms, of the third one eight.
    record = run("layer_wise", setting([0]))
    assert rows(record) == [(0, 1, 2, 0), (1, 2, 2, 4), (2, 3, 8, 8), (3, 4, 2, 12)]
    assert run("blocks_6", setting([0])).group_cores.tolist() == [4]


def test_a_layer_that_finds_too_few_cores_gets_them_later_at_a_cost() -> None:
    record = run("layer_wise", setting([0, 7]))
    # The second query's third layer wants eight at 15, finds four, and has done 5 of its 8 ms when
    # the first one leaves at 20: 1.5 ms are left on eight, and 1 ms for the threads.
    assert rows(record)[5] == (2, 3, 4, 15)
    assert record.resizes == [(20 * MS, 5, 8)]
    assert record.group_end_ns[5] == 22.5 * MS
    never = run("layer_wise", setting([0, 7]), grow="none")
    assert (never.resizes, never.group_end_ns[5]) == ([], 23 * MS)
    # It saves 1.5 ms, which is not worth it to who believes that threads cost 2.
    assert run("layer_wise", setting([0, 7]), grow="paying", spawn_ns=2 * MS).resizes == []


def test_blocks_end_before_layers_that_need_more_than_the_load_leaves() -> None:
    # Alone Avg_C is 4 and all 4 others are spare: a limit of 8, no layer needs more.
    alone = run("veltair_scheduling_only", setting([0]), extra=0)
    assert rows(alone) == [(0, 4, 4, 0)]
    # Two of them leave nothing: the second is cut before its third layer, which needs eight.
    record = run("veltair_scheduling_only", setting([0, 1]), extra=0)
    assert rows(record)[1] == (0, 2, 2, 1)


def test_extra_cores_are_taken_while_they_waste_little() -> None:
    # Times go down exactly as cores go up, so that more cores waste nothing.
    record = run("veltair_scheduling_only", setting([0]))
    assert rows(record) == [(0, 4, 8, 0)]
    assert record.group_end_ns[0] == 7 * MS


def test_planaria_takes_cores_back_for_who_comes_and_adds_them_again() -> None:
    record = run("planaria", setting([0, 2], slo_ms=40))
    # 40 ms need two cores, all others are added at once; at 2 the second needs two of them, and
    # both have half of what is left, until the first one ends.
    assert rows(record) == [(0, 4, 2, 0), (0, 4, 2, 2)]
    changes = [(when / MS, group, cores) for when, group, cores in record.resizes]
    assert changes == [(0, 0, 8), (2, 0, 2), (2, 1, 4), (2, 0, 4), (15, 1, 8)]


def test_planaria_takes_no_cores_back_that_are_too_few() -> None:
    record = run("planaria", setting_of([(40, [0]), (8, [1])]))
    # What comes at 1 needs all eight cores, of which the first can only give back six: it waits,
    # and begins late when the first one ends.
    assert rows(record) == [(0, 4, 2, 0), (0, 4, 8, 8)]
    assert [(when / MS, cores) for when, _, cores in record.resizes] == [(0, 8)]


def test_prema_lets_a_short_rest_go_before_a_new_query() -> None:
    record = run("prema", setting([0, 1.5]), layers=1)
    assert set(record.group_cores) == {8}
    starts = [(record.piece_query[k], record.piece_start[k]) for k in range(8)]
    # All layers of the first one, as it is the one with less left; then the second one's.
    assert starts == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]


def test_prema_passes_over_nobody_whom_it_would_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    def starts() -> list[tuple[int, int]]:
        record = run("prema", setting([0.7 * k + k * k % 3 for k in range(60)]), layers=1)
        return list(zip(record.piece_query, record.piece_start, strict=True))

    some = starts()
    monkeypatch.setattr(prema, "_worth_a_look", lambda waiting, progress: iter(waiting))
    assert starts() == some


def test_what_cannot_be_in_time_alone_is_dropped_if_asked_for() -> None:
    record = run("model_wise", setting([0, 1], slo_ms=6), drop=True)
    assert record.group_start_ns.tolist() == []
    assert record.predicted_end_ns.tolist() == [7 * MS, 8 * MS]


def test_surplus_believes_what_profiles_say_of_pressure() -> None:
    demand = setting_of([(40, [0]), (8, [1])]).demand
    profiles = (Small(sensitivities=(0.5, 0.25)), Small(sensitivities=(0.25,)))
    believed = believed_interference(with_(demand, profiles=profiles))
    assert believed is not None
    groups = [group_of(0, cores=2, version=0), group_of(1, cores=4, version=1)]
    # Four of eight cores beside the first, two beside the second, of a version that bears more.
    assert believed.slowdowns_ppm(groups) == [1_250_000, 1_062_500]


def test_pressure_makes_blocks_change_to_another_version() -> None:
    class Two(Small):
        def operator_ns(self, items: int, sequence: int, version: int) -> list[list[int]]:
            return [[ms * MS * (10 + version) // 10 for ms in row] for row in TABLE]

    class Pressing:
        """Doubles the first version, leaves the second alone."""

        def slowdowns_ppm(self, groups: Sequence[Group]) -> list[int]:
            beside = len(groups) > 1
            return [2_000_000 if beside and own.version == 0 else 1_000_000 for own in groups]

    own = setting([4.0 * k for k in range(40)], slo_ms=40)
    profiles = (Two(sensitivities=(2.0, 0.0)),)
    demand = with_(own.demand, profiles=profiles)
    truth = LayerTruth(demand.services, profiles, NOISES.make("none"), 1)
    pressed = with_(own, demand=demand, truth=truth, interference=Pressing())
    versions = run("veltair_compilation_only", pressed).group_version.tolist()
    assert versions[:8] == [0] * 8
    assert versions.count(1) > len(versions) / 2
    assert set(run("layer_wise", pressed).group_version) == {0}


def test_the_truth_sums_layers_on_their_cores_with_one_luck_for_all() -> None:
    services = (Service("a", 1, operators=4),)
    truth = LayerTruth(services, (Small(),), NOISES.make("exponential"), 3)
    load = load_of(services, [[0]])
    (query,) = load.queries()

    def time_ns(start: int, end: int, cores: int = 0, version: int = 0) -> int:
        piece = piece_of((query,), start, end)
        return truth.group_ns(Group(0, 0, (piece,), 0, 0, cores, version), 50)

    luck = time_ns(0, 4, 4) / (14 * MS)
    assert luck != 1
    assert time_ns(2, 3, 4) == pytest.approx(8 * MS * luck)
    assert time_ns(2, 3, 4, version=1) == pytest.approx(16 * MS * luck)
    assert time_ns(2, 3) == time_ns(2, 3, 4)
    assert time_ns(2, 3, 5) == time_ns(2, 3, 4)
    assert time_ns(2, 3, 1) == pytest.approx(32 * MS * luck)
    assert stream_of(3, "a") != stream_of(4, "a")


def test_a_service_must_have_as_many_operators_as_layers() -> None:
    services = (Service("a", 1, operators=3),)
    with pytest.raises(ValueError, match="'a' has 3 operators, 4 layers"):
        LayerTruth(services, (Small(),), NOISES.make("none"), 1)


def test_the_bound_counts_each_layer_on_its_cheapest_cores() -> None:
    # 8 ms of one core for each short layer, 32 for the long one: 56, a seventh of it for all 8.
    assert CheapestCores(Small()).latency_ns(1, 0, 100) == 7 * MS
    assert CheapestCores(Small()).latency_ns(2, 0, 50) == 28 * MS


def test_the_bound_charges_cores_of_the_device_and_not_of_the_profile() -> None:
    """Twice as many cores do twice as much; on fewer, shares compute on all of the profile's."""
    for cores, whole_ms in ((16, 3.5), (8, 7), (4, 7), (0, 7)):
        devices = (ServingDevice("cpu", cores=cores),)
        assert cheapest(Small(), devices).latency_ns(1, 0, 100) == whole_ms * MS


def test_less_than_a_core_is_a_part_of_one() -> None:
    """One percent of eight cores is 0.08 of one; layers take 56 ms on it."""
    times = LayerProfile(CORES, tuple(tuple(ms * MS for ms in row) for row in TABLE))
    assert times.share_ns(0, 4, 1) == 56 * MS * 100 // 8
    assert times.share_ns(0, 4, 12) == pytest.approx(56 * MS * 100 / 96, abs=1)
    assert times.share_ns(0, 4, 13) == times.share_ns(0, 4, 24) == 56 * MS
    services = (Service("a", 1, operators=4),)
    truth = LayerTruth(services, (Small(),), NOISES.make("none"), 1)
    (query,) = load_of(services, [[0]]).queries()
    group = Group(0, 0, (piece_of((query,), 0, 4),), 0, 0)
    assert truth.group_ns(group, 1) == times.share_ns(0, 4, 1)


def test_pieces_side_by_side_take_what_their_layers_take() -> None:
    """Not their part of the whole model's time."""
    services = tuple(Service(name, 1, operators=4) for name in "ab")
    truth = LayerTruth(services, (Small(), Small()), NOISES.make("none"), 1, overlap=0.1)
    first, second = load_of(services, [[0], [0]]).queries()
    pieces = (piece_of((first,), 2, 3), piece_of((second,), 0, 1))
    assert truth.group_ns(Group(0, 0, pieces, 0, 0), 50) == (8 + 2) * 0.9 * MS


def test_who_waits_for_cores_counts_among_those_that_have_begun() -> None:
    """Two that have begun leave nothing to spare, so that the third layer begins a block."""
    own = setting([0, 0])
    demand = own.demand
    predictor = PREDICTORS.make("layers", demand.services, demand.profiles)
    choice = BlockChoice(layered(predictor), BlockParams())
    first, second = own.load.queries()
    deployment = PLANNERS.make("cores").plan(demand)
    state = State(0, (), (None,) * len(deployment.partitions), deployment, {second.id: 2})
    room = Room(0, cores=8, free=8, worker=0)
    alone, beside = (choice.next(state, first, room, paused) for paused in ((), (second,)))
    assert alone is not None
    assert beside is not None
    assert (alone.end, beside.end) == (4, 2)
    # It is not counted twice when it is the one that asks.
    again = choice.next(state._replace(progress={}), second, room, (second,))
    assert again is not None
    assert again.end == 4


def test_policies_on_cores_need_a_predictor_that_knows_layers() -> None:
    own = setting([0])
    for name in ("veltair", "planaria", "prema"):
        with pytest.raises(ValueError, match="knows layers"):
            run(name, own, predictor={"kind": "serial"})


def test_a_model_without_layers_is_cut_evenly() -> None:
    services = (Service("a", 40 * MS, operators=2),)
    profiles = (Affine(8 * MS, 0),)
    demand = Demand(services, profiles, (1.0,), (1,), (0,), (ServingDevice("cpu", lanes=4),))
    truth = LayerTruth(services, profiles, NOISES.make("none"), 1)
    own = Setting(demand, load_of(services, [[0]]), truth)
    record = run("layer_wise", own)
    assert rows(record) == [(0, 1, 1, 0), (1, 2, 1, 16)]
