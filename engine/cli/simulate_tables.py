"""What ``engine simulate`` says of policies: the best first, those that decide alike once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surplus.colocation.clairvoyant import Bound
from surplus.colocation.results.comparison import Compared
from surplus.colocation.results.metrics import Tally
from surplus.engine.cli.output import duration, show_rows, show_text

_LEGEND = """\
in time, late, dropped: shares of all queries
good/s, served/s: answers in time, and all, that came before the last query did, a second
p99: of the answered; used: of the devices' time; fair: Jain's index of the services' goodput"""


def ranked(compared: Sequence[Compared]) -> list[Compared]:
    """Most in time first; of those alike the one with the shorter 99th percentile."""
    return sorted(
        compared,
        key=lambda one: (-one.summary.total.in_time, one.summary.total.p99_ns or 0),
    )


def alike(compared: Sequence[Compared]) -> list[list[Compared]]:
    """Policies whose figures are the same, together, in the order of the first of each."""
    groups: dict[object, list[Compared]] = {}
    for one in compared:
        figures = replace(one.summary, policy="", decision_mean_ns=0, decision_max_ns=0)
        groups.setdefault(figures, []).append(one)
    return list(groups.values())


def show_compared(
    title: str, compared: Sequence[Compared], timing: bool, bound: Bound | None = None
) -> None:
    """Tables of all queries and by service, and what they mean.

    Parameters
    ----------
    compared : sequence of Compared
        In this order. Those that decide alike have one row, if decisions are not timed.
    """
    groups = [[one] for one in compared] if timing else alike(compared)
    shown = [group[0] for group in groups]
    rows = [_row(one, timing) for one in shown]
    if bound is not None and rows:
        rows.append(dict.fromkeys(rows[0], "") | _bound_row(bound))
    show_rows(title, rows)
    show_text(_LEGEND)
    for group in groups:
        if len(group) > 1:
            first, *others = (one.summary.policy for one in group)
            show_text(f"the same as {first} in every figure, here: {', '.join(others)}")
    by_service = [
        _service_row(one.summary.policy, one.summary.services[place])
        for place in range(len(shown[0].summary.services))
        for one in shown
    ]
    show_rows(f"{title}, by service", by_service)
    for one in compared:
        for short in one.run.deployment.shortfalls:
            service = one.summary.services[short.service].name
            text = f"{short.rate_per_s:.1f} queries/s have no place, {short.reason}"
            print(f"{one.run.policy}, {service}: {text}")


def _row(one: Compared, timing: bool) -> dict[str, str]:
    summary, total = one.summary, one.summary.total
    row = {"policy": summary.policy} | _shares(total)
    row |= {"good/s": f"{total.goodput_per_s:.1f}", "served/s": f"{total.served_per_s:.1f}"}
    row |= {"p99": _latency(total.p99_ns), "used": f"{summary.utilisation:.1%}"}
    row |= {"fair": f"{summary.fairness:.3f}"}
    return row | ({"decision": duration(summary.decision_mean_ns)} if timing else {})


def _bound_row(bound: Bound) -> dict[str, str]:
    name = "clairvoyant bound" if bound.proved else "bound, estimated"
    return {"policy": name, "in time": f"{bound.goodput:.1%}"}


def _service_row(policy: str, tally: Tally) -> dict[str, str]:
    lost = tally.rejected + tally.failed + tally.unfinished
    row = {"service": tally.name, "policy": policy} | _shares(tally)
    row |= {"lost": str(lost), "offered": str(tally.offered)}
    return row | {"p50": _latency(tally.p50_ns), "p99": _latency(tally.p99_ns)}


def _shares(tally: Tally) -> dict[str, str]:
    rows = {"in time": tally.in_time, "late": tally.late, "dropped": tally.dropped}
    return {key: f"{count / max(1, tally.offered):.1%}" for key, count in rows.items()}


def _latency(time_ns: int | None) -> str:
    return "-" if time_ns is None else duration(time_ns)


def show_beside(simulated: Sequence[Compared], lived: Sequence[Compared]) -> None:
    """Each policy's live run next to the simulation of it."""
    both = zip(simulated, lived, strict=True)
    show_rows("live beside simulated", [_beside(*two) for two in both])


def _beside(simulated: Compared, live: Compared) -> dict[str, str]:
    ours, theirs = live.summary.total, simulated.summary.total
    row = {"policy": live.summary.policy}
    row |= {"late or lost": f"{ours.violations:.1%}", "simulated": f"{theirs.violations:.1%}"}
    row |= {"p99": _latency(ours.p99_ns), "simulated p99": _latency(theirs.p99_ns)}
    if ours.p99_ns is None or theirs.p99_ns is None:
        return row | {"p99 / simulated": "-"}
    return row | {"p99 / simulated": f"{ours.p99_ns / theirs.p99_ns:.2f}"}
