"""Solves a series of blocks: a shortest path over the devices of the cuts between them.

An edge of the path is one block between two devices. It costs a lower bound at first and the
solver's bound once it was asked about. Only edges on the currently shortest path are asked about,
until all of that path's are solved: then it is the optimum. On the way the best known plans of all
blocks, whoever made them, are joined to plans of the whole, so that time that is over leaves what
every block that was solved has gained.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from math import inf

from surplus.milp.block_plan import cut_up, join
from surplus.milp.block_question import BlockQuestion
from surplus.milp.bounds import bound_of_windows_ns
from surplus.milp.chain_costs import ChainCosts, Cut, Edge
from surplus.milp.deadline import Deadline
from surplus.milp.params import SolveParams
from surplus.milp.search import Search
from surplus.milp.series import SeriesBlock, block_problem
from surplus.milp.solvers.pool import SolverPool
from surplus.milp.windows import eligible_devices, time_windows
from surplus.placement import Problem

_BOUNDING_S = 0.2
"""How long edges are bounded before it is seen to the solvers; those that are not count as 0."""

_LOOK_S = 0.5
"""How often it looks at what solvers under way have found."""

_LARGE_TASKS = 60
"""Blocks of up to so many are asked about for each pair of devices, which bounds them better; of
larger ones each pair would take as long as all of them."""

_ALONE = 3.0
"""A block whose gap is so many times that of any other has all threads."""

_LONG_NS = 1 << 62

_LEAST_S = 0.1
"""What no solver can begin in."""

_QUEUED = 2
"""Small questions that are written down while the solvers' processes are at others."""

_JOINS_SHARE = 0.05
"""Of the time, what joining may take on the way; the last time it may anyhow."""


class Chain:
    """The blocks of one problem.

    Parameters
    ----------
    problem : Problem
        The whole, without memory limits.
    blocks : list of SeriesBlock
        In the order in which they run.
    params : SolveParams
        Time limit and threads are for all blocks together.
    """

    def __init__(self, problem: Problem, blocks: list[SeriesBlock], params: SolveParams) -> None:
        self._problem = problem
        self._blocks = blocks
        self._params = params
        self._tensor_of = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
        devices = eligible_devices(problem)
        cuts = [block.last for block in blocks[:-1] if block.last is not None]
        none: tuple[Cut, ...] = (None,)
        self._chain = ChainCosts([none, *(devices[cut] for cut in cuts), none])
        self._unbounded = deque(self._chain.costs)
        self._questions: dict[frozenset[Edge], BlockQuestion] = {}
        self._running: dict[Future[None], BlockQuestion] = {}
        self._joined_ns = inf
        self._joining_s = 0.0
        self._pool = SolverPool(params.threads)
        self._is_over = False

    def improve(self, search: Search) -> None:
        """Raise the bound and offer plans until the gap is closed or time is up."""
        if search.standing.best is not None:
            plans = cut_up(self._problem, self._blocks, search.standing.best)
            for number, plan in enumerate(plans):
                self._chain.costs[self._edge_of(number, plan.device_of)].keep(plan)
            self._joined_ns = search.standing.best.makespan_ns
        executor = ThreadPoolExecutor(self._params.threads + _QUEUED)
        try:
            self._ask_all(search, executor)
        finally:
            self._is_over = True
            self._pool.close()
            executor.shutdown()
        for question in self._running.values():
            self._learn(question)
            self._say(question, "the time was over", search)
        self._join(search)
        self._raise(search)

    def _ask_all(self, search: Search, executor: ThreadPoolExecutor) -> None:
        while not search.proven() and search.deadline.left_s > _LEAST_S:
            self._bound_edges(search.deadline.within(_BOUNDING_S))
            self._start(search, executor)
            if not self._running and not self._unbounded:
                return
            look_s = 0 if self._unbounded else min(_LOOK_S, search.deadline.left_s)
            done, _ = wait(self._running, timeout=look_s, return_when=FIRST_COMPLETED)
            for question in list(self._running.values()):
                self._learn(question)
            for future in done:
                question = self._running.pop(future)
                future.result()
                self._learn(question)
                self._say(question, question.search.message, search)
            self._raise(search)
            if self._joining_s <= _JOINS_SHARE * search.standing.elapsed_s:
                self._join(search)

    def _start(self, search: Search, executor: ThreadPoolExecutor) -> None:
        """Give free threads something to do."""
        ranked = self._open(search)
        while ranked:
            urgency, question = ranked.pop(0)
            free = self._params.threads - sum(q.threads for q in self._running.values())
            if free + (_QUEUED if question.is_small else 0) <= 0:
                return
            second = ranked[0][0] if ranked else 0.0
            deadline = search.deadline.within(question.slice_s()).unless(lambda: self._is_over)
            alone = not self._running and not question.is_small and urgency > _ALONE * second
            large = question.search.is_too_large(deadline)
            question.threads = free if alone and not large else 1
            costs = [self._chain.costs[edge] for edge in question.edges]
            question.search.standing.raise_bound(min(cost.bound_ns for cost in costs))
            known = min(costs, key=lambda cost: cost.makespan_ns).plan
            future = executor.submit(question.run, deadline, known, self._tensor_of)
            self._running[future] = question

    def _open(self, search: Search) -> list[tuple[float, BlockQuestion]]:
        """Questions on the shortest path, the most urgent first: small ones, then large gaps."""
        _, path = self._chain.shortest(lambda cost: cost.bound_ns)
        running = {edge for question in self._running.values() for edge in question.edges}
        # Of a block of which an edge is not bounded yet the path may take a wrong one.
        end = self._unbounded[0][0] if self._unbounded else len(self._blocks)
        bounded = (edge for edge in path if edge[0] < end and edge not in running)
        todo = [edge for edge in bounded if not self._chain.costs[edge].is_solved]
        large = any(self._is_large(edge) for edge in todo)
        worth = self._worth(search) if large else set()
        found = []
        for edge in todo:
            question = self._question(edge, worth)
            if not question.is_stuck:
                found.append((self._urgency(edge, question), question))
        return sorted(found, key=lambda row: -row[0])

    def _urgency(self, edge: Edge, question: BlockQuestion) -> float:
        """What there is to gain, less each time that a block was asked about."""
        cost = self._chain.costs[edge]
        if question.is_small and not question.tries:
            return inf
        return (min(cost.makespan_ns, _LONG_NS) - cost.bound_ns) / float(2**question.tries)

    def _is_large(self, edge: Edge) -> bool:
        return len(self._blocks[edge[0]].tasks) > _LARGE_TASKS

    def _question(self, edge: Edge, worth: set[Edge]) -> BlockQuestion:
        """Who asks about an edge, of a large block about all of its that are worth it."""
        number, first, last = edge
        edges = frozenset({edge})
        if self._is_large(edge):
            firsts = {e[1] for e in worth if e[0] == number} | {first}
            lasts = {e[2] for e in worth if e[0] == number} | {last}
            several = frozenset((number, a, b) for a in firsts for b in lasts)
            known = self._questions.get(several)
            if known is None or not known.search.proven():
                edges = several
        if edges not in self._questions:
            self._questions[edges] = self._new_question(number, edges)
        return self._questions[edges]

    def _new_question(self, number: int, edges: frozenset[Edge]) -> BlockQuestion:
        block, ask = self._blocks[number], self._pool.run
        question = BlockQuestion(self._problem, block, number, edges, self._params, ask)
        elders = [q.tries for q in self._questions.values() if q.number == number]
        question.tries = max(elders, default=0) if len(block.tasks) > _LARGE_TASKS else 0
        return question

    def _worth(self, search: Search) -> set[Edge]:
        best = search.standing.best
        return self._chain.worth(best.makespan_ns if best else _LONG_NS)

    def _learn(self, question: BlockQuestion) -> None:
        """Take over what a search has found so far."""
        for edge in question.edges:
            self._chain.costs[edge].raise_bound(question.search.standing.bound_ns)
        found = question.found(self._tensor_of)
        if found is not None:
            edge, plan = found
            self._chain.costs[edge].keep(plan)

    def _edge_of(self, number: int, device_of: Mapping[int, int]) -> Edge:
        block = self._blocks[number]
        first = None if block.first is None else device_of[block.first]
        last = None if block.last is None else device_of[block.last]
        return number, first, last

    def _bound_edges(self, deadline: Deadline) -> None:
        """What can be said of edges without a solver, block by block."""
        while self._unbounded and not deadline.is_over:
            edge = self._unbounded.popleft()
            number, first, last = edge
            firsts, lasts = ([d for d in (cut,) if d is not None] for cut in (first, last))
            problem = block_problem(self._problem, self._blocks[number], firsts, lasts)
            windows = time_windows(problem, eligible_devices(problem))
            self._chain.costs[edge].raise_bound(bound_of_windows_ns(problem, windows))

    def _raise(self, search: Search) -> None:
        """No plan is shorter than the shortest path of bounds."""
        far, path = self._chain.shortest(lambda cost: cost.bound_ns)
        search.standing.raise_bound(int(far))
        if all(self._chain.costs[edge].is_solved for edge in path):
            search.message = "the blocks are solved, but no plan as short as they are is known"

    def _say(self, question: BlockQuestion, message: str, search: Search) -> None:
        count = len(self._blocks)
        search.proof = f"{count} blocks in series, proven by {self._params.solver}"
        if not question.search.proven():
            search.message = f"block {question.number + 1} of {count}: {message}"

    def _join(self, search: Search) -> None:
        """Join the blocks' best plans, if that is shorter than what was joined before."""
        far, path = self._chain.shortest(lambda cost: cost.makespan_ns)
        if far >= self._joined_ns:
            return
        began_s = search.standing.elapsed_s
        self._joined_ns = far
        plans = [plan for edge in path if (plan := self._chain.costs[edge].plan) is not None]
        search.offer(join(self._problem, plans, self._params.solver))
        self._joining_s += search.standing.elapsed_s - began_s
