"""A graph with the plan that it runs, and whatever may change about that while queries come.

Long because the ways to answer (run, submit, infer) and what may change under them (plan, machine,
trial, throughput plan) are one object with one lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from surplus.engine import _core
from surplus.engine.devices import after_fork
from surplus.engine.devices.after_fork import LeftBehind
from surplus.engine.devices.machines import loss_of
from surplus.engine.devices.spec import traits_of
from surplus.engine.dfg.graph import Graph
from surplus.engine.errors import RefusedError
from surplus.engine.runtime import neighbours
from surplus.engine.runtime.device_loss import LossGuard, Recovery
from surplus.engine.runtime.direct_path import DirectPath
from surplus.engine.runtime.future import Future as Future
from surplus.engine.runtime.inputs import Array, check_mapping, is_empty
from surplus.engine.runtime.kernel_facts import facts_of, failures_of
from surplus.engine.runtime.ports import Ports, raise_closed
from surplus.engine.runtime.prepared import Prepared, devices_text, prepare
from surplus.engine.runtime.route import lead
from surplus.engine.runtime.throughput_choice import ThroughputChoice
from surplus.engine.runtime.throughput_switch import Departure, ThroughputSwitch
from surplus.engine.runtime.urgency import Urgency, check_urgency
from surplus.engine.store.folder_use import FolderUse

if TYPE_CHECKING:
    from surplus.engine.explain.breakdown import Breakdown
    from surplus.engine.explain.late_query import LateQuery
    from surplus.engine.runtime.on_trial import PlanJudge, QueryTrial
    from surplus.engine.runtime.query_times import Said
    from surplus.engine.runtime.queueing import Queueing
    from surplus.engine.runtime.share import Share
    from surplus.engine.runtime.stack_use import StackUse
    from surplus.engine.runtime.throughput_plan import ThroughputPlan
    from surplus.engine.segmentation.judgement import Judgement
    from surplus.engine.segmentation.plan import Plan
    from surplus.placement.timeline import Timeline


Trial = TypeVar("Trial", bound="QueryTrial")


class PlannedModel:
    """A graph, its plan and the core's form of it: what ``Model`` is made of. Thread-safe.

    Sessions and weights go with ``close()``, or with the last reference.
    While more queries overlap than there are lanes, each runs on a lane of its own
    (throughput_switch.py), or all run the ``throughput_plan``, as far as ``departure`` allows
    (throughput_choice.py); traced ones always follow ``plan``.
    ``judgement`` says on what grounds it runs its plan, if it was compared with others.
    After a device was lost, ``recovery`` says how queries go on (device_loss.py).
    """

    def __init__(
        self,
        graph: Graph,
        plan: Plan,
        machine: _core.Machine,
        departure: Departure = Departure.SAME_BITS,
        recovery: Recovery | None = None,
        throughput_plan: ThroughputPlan | None = None,
        judgement: Judgement | None = None,
        narrow_plan: Plan | None = None,
    ) -> None:
        self.graph = graph
        self._in_use = FolderUse(graph.folder, is_stored=graph.is_stored)
        self.checked: Mapping[str, Any] | None = None
        self._judgement: Judgement | None = None
        self._judge: PlanJudge | None = None
        self._ports = Ports(graph)
        self.inputs = self._ports.inputs
        self.outputs = self._ports.outputs
        self._overlaps = ThroughputChoice(departure, throughput_plan, narrow_plan)
        self._swap = threading.RLock()
        self._is_closed = False
        self.route = _core.Route()
        """Leads queries that come without Python, as ``run`` leads others."""
        self._trial: QueryTrial | None = None
        self._direct = DirectPath(self._ports)
        self._prepared: Prepared
        self._switch: ThroughputSwitch | None = None
        self._machine: _core.Machine
        self._guard: LossGuard | LeftBehind | None = None
        self._adopt(plan, machine)
        self._judgement = judgement
        self.guard(machine, recovery)
        after_fork.watch(self)

    def guard(self, machine: _core.Machine, recovery: Recovery | None) -> None:
        """Go on so from now on when ``machine``, on which it runs, loses a device."""
        self._guard = None if recovery is None else LossGuard(machine, recovery, self.graph.name)
        self._lead()

    def close(self) -> None:
        """Refuse queries from now on; sessions and weights go with the last that is in flight."""
        from surplus.engine.runtime.closed import ClosedPlan

        with self._swap:
            self._is_closed = True
            self._lead()
            self._switch = self._trial = self._judge = self._guard = None
            closed = cast("_core.Plan", ClosedPlan(self.graph.name))
            self._prepared = self._prepared._replace(native=closed, query=None)
            self._in_use = FolderUse(self.graph.folder, is_stored=False)

    def limit_queries(self, limit_ns: int) -> None:
        """End queries whose kernels take longer from now on, of all its plans; 0 is no limit."""
        self._ports.time_limit_ns = limit_ns
        for prepared in self._opened():
            prepared.native.limit_time(limit_ns)

    def probe_empty_inputs(self) -> None:
        """Run queries without elements in a child first, the first of each kind."""
        self._ports.probe_empty_inputs()

    def be_urgent(self, urgency: Urgency) -> None:
        """What queries are from now on where they do not say it themselves."""
        self._ports.urgency = urgency
        for prepared in self._opened():
            urgency.of(prepared.native)
        self._lead()
        if urgency.may_make_way:
            neighbours.OF_PROCESS.join(self)

    def be_ready(self) -> None:
        """Other models are there whose queries are due: prepare to make way for them."""
        if self._switch is not None:
            self._switch.be_ready()

    def be_called(self, label: str) -> None:
        """What it is called from now on where its queries are explained (flight_log.py)."""
        self._ports.label, self._ports.serves = label, True
        for prepared in self._opened():
            prepared.native.be_called(label)

    def be_recorded(self) -> None:
        """Have what its machine runs recorded from now on, whether or not queries are due."""
        self._machine.record_until(2**62)

    def late_queries(self, window_s: float = 60.0) -> list[LateQuery]:
        """Those of the last seconds that came late, each explained; raises as ``surplus.late``."""
        from surplus.engine.runtime import flight_log  # with all that reads traces

        return flight_log.late_queries_on(self._machine, self._ports.label, window_s)

    def be_stacked(self, stacks: StackUse) -> None:
        """Which queries that wait at the same time are answered by one call from now on."""
        self._ports.stacks = stacks
        for prepared in self._opened():
            stacks.apply(prepared.native, prepared.plan)

    def be_queued(self, queueing: Queueing) -> None:
        """How queries wait before lanes get them, from now on."""
        self._ports.room = room = queueing.room()
        for prepared in self._opened():
            prepared.native.wait_in(room)

    @property
    def stacked(self) -> tuple[int, int]:
        """How many calls have answered several queries, and how many queries these were."""
        counts = [prepared.native.stacks for prepared in self._opened()]
        return sum(calls for calls, _ in counts), sum(queries for _, queries in counts)

    @property
    def stack_sizes(self) -> dict[int, tuple[int, int]]:
        """By how many queries a call answered, of two and more: such calls, and their time, ns."""
        sizes: dict[int, tuple[int, int]] = {}
        for prepared in self._opened():
            for size, (calls, took_ns) in prepared.native.stack_sizes.items():
                before_calls, before_ns = sizes.get(size, (0, 0))
                sizes[size] = before_calls + calls, before_ns + took_ns
        return sizes

    @property
    def has_slow_first_runs(self) -> bool:
        """Whether an opened plan of it has a segment on a device whose first runs are slow."""
        return any(
            traits_of(prepared.plan.devices[segment.device]).has_slow_first_runs
            for prepared in self._opened()
            for segment in prepared.plan.segments
        )

    def ask_each_plan(self, inputs: Mapping[str, Array], timeout_s: float | None) -> None:
        """Answer a query with each plan whose sessions are open; raises as ``run``."""
        for prepared in self._opened():
            self._direct.answer(prepared, inputs, None, timeout_s, False)

    def _opened(self) -> list[Prepared]:
        if self._is_closed:
            return []
        return [self._prepared, *(() if self._switch is None else self._switch.opened)]

    @property
    def warning(self) -> str:
        """What queries go on without, and why: a lost device, kernels, lanes, time; or empty."""
        lost = self._guard.warning if isinstance(self._guard, LossGuard) else ""
        late = self._ports.urgency.shortfall(self.plan.predicted.makespan_ns)
        return "; ".join(filter(None, (lost, failures_of(self.plan), self.held, late)))

    @property
    def facts(self) -> Mapping[str, str]:
        """Whose kernels it runs with, and how far its answers are from the model's in one session
        of ONNX Runtime, where that was compared; which it does without (kernel_facts.py); which
        queries are batched.
        """
        dropped = [name for p in self._opened() for name in p.native.dropped_kernels]
        return {**facts_of(self.plan, self.checked, dropped), **self._ports.stacks.facts}

    @property
    def held(self) -> str:
        """Which segments hold lanes although their queries have ended; empty if none does."""
        from surplus.engine.runtime.held_lanes import held_by

        return held_by([prepared.native for prepared in self._opened()])

    @property
    def failure(self) -> str:
        """Why every query fails: a device is lost, or all of its lanes are held; empty if none."""
        if isinstance(self._guard, LeftBehind) or not (
            self._machine.is_stalled or self._machine.is_lost
        ):
            return ""
        names = {self.plan.devices[segment.device] for segment in self.plan.segments}
        lost = "" if self._guard is not None else loss_of(self._machine, names)
        if lost:
            return lost
        from surplus.engine.runtime.held_lanes import stall_of

        return stall_of(self._machine, names)

    def accompany(self, throughput_plan: ThroughputPlan, departure: Departure) -> None:
        """Have a plan for while queries overlap, as far as ``departure`` allows."""
        self._overlaps = self._overlaps._replace(allowed=departure, given=throughput_plan)

    @property
    def narrow_plan(self) -> Plan | None:
        """The whole model on one lane, if that is what answers queries that overlap."""
        return self._overlaps.narrow

    def be_narrow(self, plan: Plan) -> None:
        """Answer queries that overlap so, on a lane each, from the next opening on."""
        self._overlaps = self._overlaps._replace(narrow=plan)

    def open_throughput_plan(self) -> None:
        """Run that plan from now on while queries overlap; without one nothing changes."""
        if self.throughput_plan is not None:
            self._change_switch(self._new_switch(self._machine))

    @property
    def plan(self) -> Plan:
        """What it runs; may be set to the same segments with another prediction."""
        return self._prepared.plan

    @plan.setter
    def plan(self, plan: Plan) -> None:
        self._prepared = self._prepared._replace(plan=plan)
        if any(segment.fixed_width for segment in plan.segments):
            self._change_switch(self._new_switch(self._machine))

    @property
    def native(self) -> _core.Plan:
        """The core's form of the plan."""
        return self._prepared.native

    @property
    def lanes(self) -> Mapping[str, int]:
        """Lanes of its machine, by device."""
        return self._prepared.lanes

    def _adopt(self, plan: Plan, machine: _core.Machine) -> None:
        prepared = prepare(self.graph, plan, machine, self._ports)
        with self._swap:
            self._judgement = self._judge = self._trial = None  # all of that was of other devices
            self._prepared = prepared
            self._machine = machine
            self._change_switch(self._new_switch(machine))

    def _change_switch(self, switch: ThroughputSwitch | None) -> None:
        before = self._switch
        if before is not None:
            before.lead(None, None)
        self._switch = switch
        self._lead()

    def _lead(self) -> None:
        """Say to ``route`` what answers the next query."""
        answers = not self._is_closed and self._trial is None
        left_behind = isinstance(self._guard, LeftBehind)
        prepared = self._prepared if answers and not left_behind else None
        if isinstance(self._guard, LossGuard):
            self._guard.watch(opened.native.devices for opened in self._opened())
        lead(self.route, prepared, self._switch, self._ports, id(self))

    def prepare(self, plan: Plan) -> Prepared:
        """Open another plan's sessions on its machine, beside queries; for ``take_over``.

        Raises
        ------
        ExecutionError
            If ONNX Runtime refuses a segment; the message names it.
        """
        return prepare(self.graph, plan, self._machine, self._ports)

    def may_answer(self, plan: Plan) -> bool:
        """Whether another plan may answer its queries: the same bits, unless any will do."""
        from surplus.engine.runtime.same_bits import same_bits  # of a plan that comes later

        return self._overlaps.allowed is Departure.ALWAYS or same_bits(plan, self.plan)

    def take_over(self, prepared: Prepared, instead_of: Prepared | None = None) -> bool:
        """Answer with another plan from the next query on; those in flight end with theirs.

        Parameters
        ----------
        prepared : Prepared
            From ``prepare``.
        instead_of : Prepared, optional
            What must still be answering.

        Returns
        -------
        bool
            False, and nothing changes, where its bits may differ and must not, or a device was
            lost since it was prepared, so that queries go on elsewhere.
        """
        with self._swap:
            here = prepared.machine is self._machine and not self._is_closed
            if not here or not self.may_answer(prepared.plan):
                return False
            if instead_of is not None and instead_of.native is not self._prepared.native:
                return False
            self._prepared = prepared
            if self.throughput_plan is None:  # else it stays as it is, opened
                self._change_switch(self._new_switch(self._machine))
            self._lead()
            return True

    def become(self, other: PlannedModel) -> bool:
        """Answer as ``other`` does from the next query on: the same model, read by now.

        Who calls knows that its bits are the same, or need not be.

        Returns
        -------
        bool
            False, and nothing changes, where it takes or gives something else, or runs elsewhere:
            a device was lost meanwhile.
        """
        if (other.inputs, other.outputs) != (self.inputs, self.outputs):
            return False
        other.limit_queries(self._ports.time_limit_ns)
        other.be_urgent(self._ports.urgency)
        other.be_called(self._ports.label)
        if self._ports.probes_empty:
            other._ports.probe_empty_inputs()
        with self._swap:
            if other._machine is not self._machine or self._is_closed:
                return False
            self.graph, self._in_use = other.graph, other._in_use
            self._ports = other._ports
            self._overlaps = other._overlaps
            self._prepared = other._prepared
            self.checked = other.checked
            self._judgement, self._judge, self._trial = other._judgement, other._judge, other._trial
            self._change_switch(other._switch)
        if self._judge is not None:
            self._judge.watch(self)
        return True

    @property
    def throughput_plan(self) -> ThroughputPlan | None:
        """What it runs while queries overlap on several devices; None if that is its plan."""
        return self._overlaps.throughput_plan(self.plan)

    def _new_switch(self, machine: _core.Machine) -> ThroughputSwitch | None:
        return self._overlaps.switch(self.graph, self._prepared, machine, self._ports)

    @property
    def judgement(self) -> Judgement | None:
        """On what grounds it runs its plan; None if it was compared with nothing."""
        return self._judgement if self._judge is None else self._judge.judgement

    @property
    def share(self) -> Share | None:
        """What its trials in service have cost of its queries' time; None if there are none."""
        return None if self._judge is None else self._judge.share

    def note(self, judgement: Judgement) -> None:
        """On what grounds it runs its plan."""
        self._judgement = judgement

    def doubt(self) -> None:
        """Have what its plan was judged by stored as provisional: others were at work."""
        if self._judge is not None:
            self._judge.doubt()

    def be_judged(self, judge: PlanJudge) -> None:
        """Have its plan judged again while it serves (engine/judging/judge.py)."""
        if self._is_closed:
            return
        self._judge = judge
        judge.watch(self)

    def judge(self) -> int | None:
        """A step of that, for one thread; in how many nanoseconds the next is due, if ever."""
        return None if self._judge is None else self._judge.step(self)

    @property
    def is_answering(self) -> bool:
        """Whether queries are in flight on its machine, its own or others."""
        return self._machine.runs_in_flight > 0

    def try_beside(self, trial_of: Callable[[Prepared, ThroughputSwitch | None], Trial]) -> Trial:
        """Let a trial say from now on which plan answers each of its queries.

        Parameters
        ----------
        trial_of : callable
            Makes it, of the plan and of what runs while queries overlap.
        """
        self._trial = trial = trial_of(self._prepared, self._switch)
        self._lead()
        return trial

    def go_on(self, trial: QueryTrial) -> bool:
        """Go on with a trial that rested; False where its plan does not answer any more."""
        with self._swap:
            if trial.plan.native is not self._prepared.native:
                return False
            self._trial = trial
            self._lead()
            return True

    def end_trial(self, trial: QueryTrial | None = None) -> None:
        """Have its plan answer all of its queries again; of another trial than its own, nothing."""
        with self._swap:
            if trial is None or trial is self._trial:
                self._trial = None
                self._lead()

    def leave_behind(self) -> None:
        """Refuse queries from now on, in a forked child (after_fork.py)."""
        self._guard = LeftBehind()
        self._lead()

    def _check_devices(self) -> None:
        """Go on as the user chose if a device is lost (device_loss.py)."""
        if self._guard is not None and self._guard.is_due:
            self._guard.recover(self.plan, self._adopt)

    def _has_left(self, machine: _core.Machine) -> bool:
        """Whether queries go on elsewhere now.

        One that was about to be submitted finds its machine closed where another model was first to
        open a lost device again.
        """
        self._check_devices()
        return self._machine is not machine

    def run(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        timeout_s: float | None = None,
        traced: bool = False,
        *,
        due_ns: int = 0,
    ) -> dict[str, Array]:
        """Answer one query in the calling thread and on the devices' lanes.

        Parameters
        ----------
        inputs : mapping of str to array
            By input name.
        outputs : sequence of str, optional
            Which outputs to return; all of them by default.
        timeout_s : float, optional
            Seconds after which the query is cancelled.
        traced : bool
            Keep its spans for ``timeline()`` and ``breakdown()``.
        due_ns : int
            When its answer is due, on ``time.monotonic_ns``'s clock; 0: as long after the call as
            the model's queries are (``be_urgent``).

        Raises
        ------
        InputError
            If a name, type or shape does not fit.
        DeadlineError
            If the timeout passed.
        RefusedError
            If it cannot be in time, and the model's late queries are refused.
        ExecutionError
            If a segment failed; other queries are not affected.
        """
        if due_ns:
            check_urgency(0, 0, due_ns)
        if self._guard is not None and self._guard.is_due:
            self._check_devices()
        machine, switch, trial = self._machine, self._switch, self._trial
        try:
            if trial is not None and not traced:
                with trial.query() as ask:
                    answer = self._direct.answer(
                        ask.prepared, inputs, outputs, timeout_s, False, due_ns
                    )
                trial.answered(ask)
                return answer
            if switch is None or traced:
                if self._ports.urgency.due_after_ns:
                    self._note_query()
                return self._direct.answer(
                    self._prepared, inputs, outputs, timeout_s, traced, due_ns
                )
            began_ns = time.monotonic_ns()
            prepared = switch.now() or self._prepared
            answer = self._direct.answer(prepared, inputs, outputs, timeout_s, traced, due_ns)
            switch.answered(began_ns)
            return answer
        except RuntimeError as error:
            if not self._has_left(machine):
                raise_closed(error)
        return self.run(inputs, outputs, timeout_s, traced, due_ns=due_ns)

    def submit(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        *,
        deadline_ns: int = 0,
        priority: int | None = None,
        traced: bool = False,
        due_ns: int = 0,
        best_effort: bool | None = None,
    ) -> Future:
        """Start one query and return at once.

        What it does not say of its urgency is as the model's queries are (``be_urgent``).

        Parameters
        ----------
        inputs : mapping of str to array
            Copied, so that they may change at once; read-only arrays (``array.flags.writeable``)
            are read in place, until the query has ended.
        deadline_ns : int
            On ``time.monotonic_ns``'s clock, below 2^63; 0 is none. The query ends when it passes.
        priority : int, optional
            Of 32 bits. Queries of a higher priority go first.
        due_ns : int
            As ``deadline_ns``, but a query that is late goes on, behind those that may be in time.
        best_effort : bool, optional
            Whether it goes behind all that is not.
        """
        if priority or deadline_ns or due_ns:
            check_urgency(priority or 0, deadline_ns, due_ns)
        if self._guard is not None and self._guard.is_due:
            self._check_devices()
        machine, trial = self._machine, self._trial
        prepared = self._prepared if traced else self._prepared_now()
        query = prepared.query
        urgency: Said = {
            "deadline_ns": deadline_ns,
            "priority": priority,
            "due_ns": due_ns,
            "best_effort": best_effort,
        }
        try:
            if trial is not None and not traced:
                return self._submit_on_trial(trial, inputs, outputs, urgency)
            if query and outputs is None and not traced and type(inputs) is dict:
                started = query.submit(inputs, deadline_ns, priority, due_ns, best_effort)
                if started is not None:
                    return Future(self._ports, prepared, started, None)
            values = self._ports.kept_values(inputs, outputs)
            run = prepared.native.submit(values, traced=traced, **urgency)
            return Future(self._ports, prepared, run, outputs)
        except RuntimeError as error:
            if not self._has_left(machine):
                raise_closed(error)
        return self.submit(inputs, outputs, traced=traced, **urgency)

    async def infer(
        self,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None = None,
        deadline_ns: int | None = None,
        priority: int | None = None,
        look: Callable[[_core.Run, Prepared], None] | None = None,
        *,
        due_ns: int = 0,
        best_effort: bool | None = None,
    ) -> dict[str, Array]:
        """``submit`` for an event loop: awaits without a thread; cancelling cancels the run.

        Inputs are read in place until it returns.
        ``look`` is handed the run, traced, and what ran it when it has ended well.
        """
        import asyncio  # who awaits has it, and who does not is spared it

        from surplus.engine.runtime.completions import completions

        if priority or deadline_ns or due_ns:
            check_urgency(priority or 0, deadline_ns or 0, due_ns)
        if self._guard is not None and self._guard.is_due:
            await asyncio.to_thread(self._check_devices)
        check_mapping(self.inputs, inputs)
        if any(map(is_empty, inputs.values())):  # may take a child
            values = await asyncio.to_thread(self._ports.values, inputs, outputs)
        else:
            values = self._ports.values(inputs, outputs)
        machine, trial = self._machine, self._trial
        ask = None if trial is None else trial.begin()
        prepared = self._prepared_now() if ask is None else ask.prepared
        try:
            run = await completions().wait(
                lambda queue, tag: prepared.native.submit(
                    values,
                    deadline_ns=deadline_ns or 0,
                    priority=priority,
                    traced=look is not None or ask is not None,
                    completions=queue,
                    tag=tag,
                    due_ns=due_ns,
                    best_effort=best_effort,
                )
            )
        except BaseException as error:
            if trial is not None and ask is not None:
                trial.failed(ask)
            if not isinstance(error, RuntimeError):
                raise
            if not await asyncio.to_thread(self._has_left, machine):
                raise_closed(error)
            return await self.infer(
                inputs, outputs, deadline_ns, priority, look, due_ns=due_ns, best_effort=best_effort
            )
        if trial is not None and ask is not None:
            trial.done(ask, run)
        if look is not None and run.status == "ok":
            look(run, prepared)
        return self._ports.answer(run, outputs, prepared.query)

    def foresee(self, deadline_ns: int | None = None, priority: int | None = None) -> None:
        """Ask, before its inputs are at hand, whether a query would be refused now.

        Parameters are those of ``infer``.

        Raises
        ------
        RefusedError
            If it cannot be in time, or would wait for too long; it counts as refused.
        """
        if not (self._ports.urgency.refuses_late or self._ports.urgency.max_wait_ns):
            return
        by_ns, why = self._prepared_now().native.foresee(deadline_ns or 0, priority)
        if by_ns:
            raise RefusedError(why, by_ns)

    def keep_trace(self, run: _core.Run, prepared: Prepared) -> None:
        """Have ``timeline`` and ``breakdown`` tell of this run, which was traced and is done."""
        self._direct.keep_trace(prepared, _core.Recording(run, []))

    @property
    def description(self) -> str:
        """Its name, where it runs and by which plan; for who prints it."""
        state = "closed" if self._is_closed else self.plan.name
        return f"{self.graph.name!r} on {devices_text(self.lanes)}: {state}"

    def timeline(self) -> Timeline:
        """Spans of the last ``run(..., traced=True)``.

        Raises
        ------
        EngineError
            If no run was traced.
        """
        return self._direct.last_traced.timeline

    def breakdown(self) -> Breakdown:
        """Where the time of the last ``run(..., traced=True)`` went, the caller's side included.

        Raises
        ------
        EngineError
            If no run was traced.
        """
        return self._direct.last_traced.breakdown()

    def predicted_breakdown(self) -> Breakdown:
        """The same for the plan's prediction, which knows of no call and no dispatch."""
        from surplus.engine.explain.breakdown import breakdown  # with all that reads traces
        from surplus.engine.explain.causes import causes_of

        return breakdown(self.plan.predicted, lanes=self.lanes, causes=causes_of(self.plan))

    def _submit_on_trial(
        self,
        trial: QueryTrial,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] | None,
        urgency: Said,
    ) -> Future:
        values = self._ports.kept_values(inputs, outputs)
        with trial.query() as ask:
            ask.run = run = ask.prepared.native.submit(values, traced=True, **urgency)
        return Future(self._ports, ask.prepared, run, outputs)

    def _prepared_now(self) -> Prepared:
        """What the next untraced query runs: a plan of its own lane while others overlap."""
        switch = self._switch
        if switch is None:
            if self._ports.urgency.due_after_ns:
                self._note_query()
            return self._prepared
        return switch.now() or self._prepared

    def _note_query(self) -> None:
        """Others make way for what is due, whatever plan that has itself."""
        neighbours.OF_PROCESS.asked(self)
