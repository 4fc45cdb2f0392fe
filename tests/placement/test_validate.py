from dataclasses import replace

import pytest

from surplus.placement.simulator import simulate
from surplus.placement.timeline import Span, SpanKind, Timeline
from surplus.placement.validator import Rule, check, validate
from tests.placement.hand_problems import CPU, GPU, cpu_gpu, on

# t0 and t1 run one after the other on the GPU, t2 (width 2) and t3 on the CPU's two lanes.
# Two tensors cross from GPU to CPU; the second copy waits for the link.
PROBLEM = cpu_gpu(
    [(9, 10), (9, 10), (6, 9), (4, 9)],
    [(0, [2], 20), (1, [2, 3], 30), (-1, [0], 5), (3, [], 8, True)],
    cpu_lanes=2,
    latency_ns=4,
    widths={2: (2, 1)},
)
PLACEMENT = on([GPU, GPU, CPU, CPU])
VALID = simulate(PROBLEM, PLACEMENT)


def edited(name, **changes):
    """The valid timeline with one span changed."""
    return Timeline(tuple(replace(s, **changes) if s.name == name else s for s in VALID), "edited")


def without(name):
    return Timeline(tuple(s for s in VALID if s.name != name), "edited")


def with_also(*spans):
    return Timeline((*VALID.spans, *spans), "edited")


def span(name):
    return next(s for s in VALID if s.name == name)


def rules(timeline, durations="any"):
    return {violation.rule for violation in validate(PROBLEM, PLACEMENT, timeline, durations)}


def test_the_hand_worked_timeline_is_valid():
    # Without inputs t1 goes first, 0 to 10, t0's input arrives at 9: t0 runs from 10 to 20.
    # x1: 10 to 40 + 4; x0: asked for at 20, the link is free at 40: 40 to 60 + 4.
    assert (span("x1").start_ns, span("x1").end_ns) == (10, 44)
    assert (span("x0").ready_ns, span("x0").start_ns, span("x0").end_ns) == (20, 40, 64)
    assert (span("t2").start_ns, span("t2").lanes) == (64, (0, 1))
    assert validate(PROBLEM, PLACEMENT, VALID) == []
    check(PROBLEM, PLACEMENT, VALID)


@pytest.mark.parametrize(
    ("timeline", "broken"),
    [
        (without("t3"), {Rule.MISSING}),
        (without("x0"), {Rule.MISSING}),
        (Timeline((), "empty"), {Rule.MISSING}),
        (with_also(span("t3")), {Rule.REPEATED, Rule.OVERLAP}),
        (with_also(span("x0")), {Rule.REPEATED, Rule.LINK}),
        (with_also(replace(span("t3"), index=9, start_ns=90, end_ns=95)), {Rule.UNKNOWN}),
        (with_also(replace(span("x0"), index=3, start_ns=90, end_ns=95)), {Rule.UNKNOWN}),
        (with_also(replace(span("x0"), resource="host->gpu")), {Rule.UNKNOWN}),
        (edited("t3", resource="gpu"), {Rule.DEVICE}),
        (edited("t3", ready_ns=45), {Rule.ORDER}),
        (edited("t3", end_ns=40), {Rule.ORDER}),
        (edited("x2", ready_ns=-1), {Rule.ORDER}),
        (edited("t2", lanes=(0,)), {Rule.LANES}),
        (edited("t2", lanes=(1, 1)), {Rule.LANES, Rule.OVERLAP}),
        (edited("t3", lanes=(2,)), {Rule.LANES}),
        (edited("t0", start_ns=9), {Rule.OVERLAP}),
        (edited("x0", start_ns=39), {Rule.LINK}),
        (edited("x1", start_ns=9, ready_ns=9), {Rule.PRECEDENCE}),
        (edited("t3", start_ns=43, ready_ns=43), {Rule.PRECEDENCE}),
        (edited("t0", start_ns=8, ready_ns=8), {Rule.PRECEDENCE, Rule.OVERLAP}),
    ],
)
def test_each_fault_is_found(timeline, broken):
    assert rules(timeline) == broken


@pytest.mark.parametrize(("name", "by_ns"), [("t3", 1), ("t3", -1), ("x2", -1)])
def test_durations_count_only_where_they_are_predictions(name, by_ns):
    other = edited(name, end_ns=span(name).end_ns + by_ns)
    assert rules(other, "exact") == {Rule.DURATION}
    assert rules(other, "any") == set()


def test_ready_before_the_inputs_are_there_is_a_fault_of_predictions():
    early = edited("t3", ready_ns=43)
    assert rules(early, "exact") == {Rule.PRECEDENCE}
    assert rules(early, "any") == set()


def test_segments_are_judged_like_tasks():
    measured = [replace(s, kind=SpanKind.SEGMENT) if s.kind == "task" else s for s in VALID]
    assert validate(PROBLEM, PLACEMENT, Timeline(tuple(measured), "measured"), "any") == []


def test_queries_are_complete_one_by_one_and_share_lanes():
    def shifted(ns):
        return [
            replace(
                s, query=1, ready_ns=s.ready_ns + ns, start_ns=s.start_ns + ns, end_ns=s.end_ns + ns
            )
            for s in VALID
        ]

    assert rules(with_also(*shifted(VALID.makespan_ns)), "exact") == set()
    assert rules(with_also(*shifted(1)), "exact") == {Rule.OVERLAP, Rule.LINK}
    assert rules(with_also(shifted(1_000)[0]), "exact") == {Rule.MISSING}


def test_a_task_without_duration_must_not_run_inside_another():
    problem = cpu_gpu([(10, 1), (0, 0)])

    def at(ns):
        return Timeline(
            (
                Span(SpanKind.TASK, 0, "t0", "Op", "cpu", (0,), 0, 0, 10),
                Span(SpanKind.TASK, 1, "t1", "Op", "cpu", (0,), 0, ns, ns),
            ),
            "made",
        )

    found = {ns: validate(problem, on([CPU, CPU]), at(ns)) for ns in (0, 5, 10)}
    assert [[v.rule for v in found[ns]] for ns in (0, 5, 10)] == [[], [Rule.OVERLAP], []]


def test_a_long_span_overlaps_all_that_follow_within_it():
    # b lies within a and ends early; c starts after b but still within a.
    problem = cpu_gpu([(10, 1), (2, 1), (2, 1)])
    spans = [
        Span(SpanKind.TASK, i, f"t{i}", "Op", "cpu", (0,), 0, start, end)
        for i, (start, end) in enumerate([(0, 10), (1, 3), (5, 7)])
    ]
    found = validate(problem, on([CPU] * 3), Timeline(tuple(spans), "made"))
    assert [v.rule for v in found] == [Rule.OVERLAP, Rule.OVERLAP]


def test_check_raises_and_names_the_fault():
    with pytest.raises(ValueError, match="1 violations: missing: task 't3' does not occur"):
        check(PROBLEM, PLACEMENT, without("t3"), "any")


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="'some'"):
        validate(PROBLEM, PLACEMENT, VALID, "some")
