"""The loop between an executor and a dispatcher; the same one, simulated and live.

It owns the queues, checks every decision before it acts on it, and books what becomes of each
query. It never looks at a clock: events carry the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from surplus.colocation.frame.change import Change, ChangeKind
from surplus.colocation.frame.decision import Decision, Drop, Resize, Start
from surplus.colocation.frame.deployment import Deployment
from surplus.colocation.frame.dispatcher import Dispatcher
from surplus.colocation.frame.event import Event, EventKind
from surplus.colocation.frame.executor import Executor, ResizingExecutor
from surplus.colocation.frame.pressed import pressure_for
from surplus.colocation.frame.query import Outcome, Query
from surplus.colocation.frame.record import Record
from surplus.colocation.frame.renewal import Renewal
from surplus.colocation.frame.service import WHOLE_PPM, Service
from surplus.colocation.frame.stage import Stage
from surplus.colocation.frame.state import Queue, State
from surplus.colocation.frame.work import Group, Piece


class PolicyError(RuntimeError):
    """A dispatcher decided what cannot be done; a bug of the policy."""


class Controller:
    """Feeds events to a dispatcher and its decisions to an executor.

    Parameters
    ----------
    services : sequence of Service
    deployment : Deployment
        Already checked.
    dispatcher : Dispatcher
    executor : Executor
    record : Record
        Where everything is written down.
    reorganiser : Renewal, optional
        Replaces the deployment while it serves; None to keep the first one.
    """

    def __init__(
        self,
        services: Sequence[Service],
        deployment: Deployment,
        dispatcher: Dispatcher,
        executor: Executor,
        record: Record,
        reorganiser: Renewal | None = None,
    ) -> None:
        self._services = services
        self._stage = Stage(deployment)
        self._reorganiser = reorganiser
        self._dispatcher = dispatcher
        self._executor = executor
        self._resizing = executor if isinstance(executor, ResizingExecutor) else None
        self._pressure = pressure_for(dispatcher, executor)
        self._record = record
        self._queues = tuple(Queue() for _ in services)
        self._running = self._stage.running
        self._progress: dict[int, int] = {}
        self._groups = 0
        self._wake_ns: int | None = None
        self._step_ns: int | None = None
        if reorganiser is not None:
            self._step_at(reorganiser.wake_ns)

    @property
    def deployment(self) -> Deployment:
        """The first deployment, and behind its partitions those of all later ones."""
        return replace(self._stage.first, partitions=self._stage.view.partitions)

    def run(self) -> None:
        """Handle events until there are none left."""
        following = self._executor.next
        event = following()
        while event is not None:
            self.handle(event)
            event = following()

    def handle(self, event: Event) -> None:
        """Book one event, and let the dispatcher decide until it has nothing more to do.

        Raises
        ------
        PolicyError
            If a decision breaks the contract of ``Decision``.
        """
        timer = self._record.timer
        began_ns = timer()
        if event.query is not None:
            self._arrive(event.query)
        elif event.group is not None:
            self._end(event.group, event)
        elif event.change is not None:
            self._change(event.change, event.time_ns)
        elif self._wake_ns is not None and event.time_ns >= self._wake_ns:
            self._wake_ns = None
        now_ns = event.time_ns
        if self._reorganiser is not None:
            self._step(self._reorganiser, now_ns)
        stage, pressure = self._stage, self._pressure()
        decide = self._dispatcher.decide
        spent_ns = starting_ns = 0
        while True:
            own = (self._queues, self._running, stage.view, self._progress)
            state = State(now_ns, *own, pressure)
            asked_ns = timer()
            decision = decide(state, event)
            decided_ns = timer()
            spent_ns += decided_ns - asked_ns
            if decision.starts:
                starting_ns = decided_ns - began_ns
            if not self._act(decision, now_ns):
                break
        self._record.decided(spent_ns, starting_ns)

    def _arrive(self, query: Query) -> None:
        service = self._services[query.service]
        queue = self._queues[query.service]
        if self._reorganiser is not None:
            self._reorganiser.arrived(query)
        full = service.max_queue is not None and len(queue) >= service.max_queue
        unfit = query.items > service.max_batch or not self._serves(query.service)
        if full or unfit:
            self._record.ended(query, Outcome.REJECTED, query.arrival_ns)
        else:
            queue.add(query)

    def _serves(self, service: int) -> bool:
        """Whether a service has a place, or will have one when its deployment is ready."""
        if service in self._stage.served:
            return True
        return self._reorganiser is not None and service in self._reorganiser.coming

    def _change(self, change: Change, now_ns: int) -> None:
        """Fail what runs on a lost device, then see who still has a place."""
        self._record.changed(change, now_ns)
        if change.kind is ChangeKind.DEVICE_LOST:
            for group in self._stage.running_on(change.subject):
                self._end(group, Event(now_ns, EventKind.FAILED, group=group))
        self._stage.change(change)
        if self._reorganiser is not None:
            self._reorganiser.changed(change, self._stage, self._record, now_ns)
        self._reopened(now_ns)

    def _step(self, reorganiser: Renewal, now_ns: int) -> None:
        if reorganiser.step(self._stage, self._record, now_ns):
            self._reopened(now_ns)
        self._step_at(reorganiser.wake_ns)

    def _step_at(self, when_ns: int | None) -> None:
        if when_ns is not None and when_ns != self._step_ns:
            self._executor.wake(when_ns)
        self._step_ns = when_ns

    def _reopened(self, now_ns: int) -> None:
        """Book what is open, and turn away those whom nobody serves any more."""
        self._record.opened(self._stage.view, now_ns)
        for service, queue in enumerate(self._queues):
            if queue and not self._serves(service):
                for query in tuple(queue):
                    queue.remove(query)
                    begun = query.id in self._progress
                    outcome = Outcome.DROPPED if begun else Outcome.REJECTED
                    self._leave(query, outcome, now_ns)

    def _end(self, group: Group, event: Event) -> None:
        if self._running[group.partition] is not group:
            return
        if self._stage.free(group.partition):
            self._record.opened(self._stage.view, event.time_ns)
        failed = event.kind is EventKind.FAILED
        self._record.group_ended(group, event.time_ns)
        for piece in group.pieces:
            done = piece.end == self._services[piece.service].operators
            for query in piece.queries:
                if failed:
                    self._leave(query, Outcome.FAILED, event.time_ns)
                elif done:
                    in_time = event.time_ns <= query.deadline_ns
                    outcome = Outcome.IN_TIME if in_time else Outcome.LATE
                    self._leave(query, outcome, event.time_ns)
                else:
                    self._progress[query.id] = piece.end
                    self._queues[piece.service].add(query)

    def _leave(self, query: Query, outcome: Outcome, when_ns: int) -> None:
        self._progress.pop(query.id, None)
        self._record.ended(query, outcome, when_ns)

    def _act(self, decision: Decision, now_ns: int) -> bool:
        """Do what was decided; return whether the state is another one."""
        for drop in decision.drops:
            self._drop(drop, now_ns)
        resized = [self._resize(resize, now_ns) for resize in decision.resizes]
        for start in decision.starts:
            self._start(start, now_ns)
        wake_ns = decision.wake_ns
        if wake_ns is not None and (self._wake_ns is None or wake_ns < self._wake_ns):
            self._wake_ns = wake_ns
            self._executor.wake(wake_ns)
        return bool(decision.starts or decision.drops or any(resized))

    def _drop(self, drop: Drop, now_ns: int) -> None:
        self._take(drop.query)
        self._record.missed(drop.query, drop.predicted_end_ns)
        self._leave(drop.query, Outcome.DROPPED, now_ns)

    def _start(self, start: Start, now_ns: int) -> None:
        if not 0 <= start.partition < len(self._running):
            raise PolicyError(f"there is no partition {start.partition}")
        if self._running[start.partition] is not None:
            raise PolicyError(f"partition {start.partition} is not free at {now_ns} ns")
        if not start.pieces:
            raise PolicyError("a group without pieces")
        places = self._stage.view.places
        for piece in start.pieces:
            if (piece.service, start.partition) not in places:
                name = self._services[piece.service].name
                raise PolicyError(f"service {name!r} has no place in partition {start.partition}")
            self._check(piece)
        self._check_cores(start.partition, start.cores)
        if self._stage.view.on_demand:
            self._check_room(start.partition, start.cores)
        group = Group(
            self._groups,
            start.partition,
            start.pieces,
            now_ns,
            start.predicted_ns,
            start.cores,
            start.version,
            self._stage.view.partitions[start.partition].share_percent,
        )
        self._groups += 1
        self._running[start.partition] = group
        self._record.group_started(group)
        self._executor.start(group)

    def _resize(self, resize: Resize, now_ns: int) -> bool:
        """Change the cores of what runs, where the executor can; return whether it did."""
        running = 0 <= resize.partition < len(self._running) and self._running[resize.partition]
        if not running:
            raise PolicyError(f"nothing runs in partition {resize.partition}")
        self._check_cores(resize.partition, resize.cores)
        if resize.cores == running.cores or self._resizing is None:
            return False
        self._check_room(resize.partition, resize.cores)
        group = running._replace(cores=resize.cores)
        self._running[resize.partition] = group
        self._record.group_resized(group, now_ns)
        self._resizing.resize(group)
        return True

    def _check_cores(self, partition: int, cores: int) -> None:
        most = self._stage.view.partitions[partition].cores
        if not min(1, most) <= cores <= most:
            raise PolicyError(f"{cores} cores are claimed of {most} in partition {partition}")

    def _check_room(self, partition: int, cores: int) -> None:
        """Check that a device has what a partition takes now."""
        partitions = self._stage.view.partitions
        device = partitions[partition].device
        held_ppm = partitions[partition].held_ppm(cores) + sum(
            partitions[group.partition].held_ppm(group.cores)
            for group in self._stage.running_on(device)
            if group.partition != partition
        )
        if held_ppm > WHOLE_PPM:
            raise PolicyError(f"device {device} would give away {held_ppm / 10_000:g} %")

    def _check(self, piece: Piece) -> None:
        """Check a piece, and take its queries out of their queue."""
        service = self._services[piece.service]
        if not piece.queries or not 0 <= piece.start < piece.end <= service.operators:
            text = f"operators {piece.start} to {piece.end} of {len(piece.queries)} queries"
            raise PolicyError(f"service {service.name!r}: {text}")
        if piece.items > service.max_batch:
            text = f"a batch of {piece.items}, at most {service.max_batch} fit"
            raise PolicyError(f"service {service.name!r}: {text}")
        for query in piece.queries:
            if query.service != piece.service:
                raise PolicyError(f"query {query.id} is not of service {service.name!r}")
            if self._progress.get(query.id, 0) != piece.start:
                raise PolicyError(f"query {query.id} is not at operator {piece.start}")
            self._take(query)

    def _take(self, query: Query) -> None:
        try:
            self._queues[query.service].remove(query)
        except ValueError:
            raise PolicyError(f"query {query.id} is not waiting") from None
