#include "simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "random.hpp"

namespace placement {

Simulation::Simulation(const Problem& problem)
    : problem_(problem),
      query_(problem),
      is_used_(at(problem.device_count())),
      urgency_(at(problem.memory_count()), nobody) {
  for (Index device = 0; device < problem.device_count(); ++device) {
    lanes_.emplace_back(query_, device);
    streams_.push_back(problem.has_streams(device) ? std::make_unique<Streams>(query_, device)
                                                   : nullptr);
  }
  for (Index link = 0; link < problem.link_count(); ++link) wires_.emplace_back(problem, link);
}

void Simulation::run(const Placed& placed) {
  query_.begin(placed);
  reset();
  while (step()) continue;
  if (ended_ != problem_.task_count()) throw_never_ready();
}

/// Data alone never does that: tasks are in a topological order.
void Simulation::throw_never_ready() const {
  const auto waits =
      std::ranges::find_if(query_.missing, [](Index missing) { return missing > 0; });
  const auto task = static_cast<Index>(waits - query_.missing.begin());
  throw std::invalid_argument("holds form a cycle: task '" + problem_.name(task) +
                              "' is never ready");
}

void Simulation::rewind() {
  query_.rewind();
  reset();
}

/// Of a query that was rewound.
void Simulation::reset() {
  for (Lanes& lanes : lanes_) lanes.reset();
  for (const auto& streams : streams_)
    if (streams) streams->reset();
  for (Wire& wire : wires_) wire.reset();
  if (problem_.has_pageable_links()) find_threads();
  std::ranges::fill(urgency_, nobody);
  copies_.clear();
  now_ns_ = makespan_ns_ = 0;
  ended_ = 0;
  ended_hash_ = 0;
  is_asked_ = false;
  for (const Index task : problem_.first_tasks())
    if (query_.missing[at(task)] == 0) enqueue(task, 0);
  for (const Index tensor : problem_.given()) publish(tensor, problem_.device(0).memory, 0);
  launch_copies(0);
  dispatch(0);
}

bool Simulation::step() {
  if (query_.events.empty()) return false;
  now_ns_ = query_.events.next_ns();
  do {
    do {
      book(query_.events.pop(), now_ns_);
    } while (query_.events.next_ns() == now_ns_);
    launch_copies(now_ns_);
  } while (query_.events.next_ns() == now_ns_);
  dispatch(now_ns_);
  return true;
}

void Simulation::add_work(Index device, double lanes_ns) noexcept {
  const std::size_t home = at(problem_.home(device));
  if (!streams_[home]) lanes_[home].add_work(lanes_ns);
}

double Simulation::least_end_ns() const noexcept {
  double least_ns = 0;
  for (std::size_t device = 0; device < lanes_.size(); ++device)
    if (!streams_[device]) least_ns = std::max(least_ns, lanes_[device].least_end_ns(now_ns_));
  return least_ns;
}

void Simulation::find_threads() {
  std::ranges::fill(is_used_, 0);
  for (const Index device : query_.device_of) is_used_[at(problem_.home(device))] = 1;
  for (Index link = 0; link < problem_.link_count(); ++link)
    wires_[at(link)].set_thread(thread_of(problem_.link(link)));
}

/// The device whose thread submits a link's copies: the target's, unless that is the host's.
Streams* Simulation::thread_of(const Link& link) noexcept {
  const Index memory = link.target == problem_.device(0).memory ? link.source : link.target;
  for (Index device = 0; device < problem_.device_count(); ++device)
    if (streams_[at(device)] && is_used_[at(device)] && problem_.device(device).memory == memory)
      return streams_[at(device)].get();
  return nullptr;
}

void Simulation::book(Event event, Ns now_ns) {
  if (event.what == Happening::wakes) return streams_[at(event.index)]->wake();
  makespan_ns_ = now_ns;
  if (event.what == Happening::task_ends)
    end(event.index, now_ns);
  else
    arrive(event.index, now_ns);
}

void Simulation::end(Index task, Ns now_ns) {
  ++ended_;
  ended_hash_ += mixed(static_cast<std::uint64_t>(task));
  const Index device = query_.home(task);
  if (streams_[at(device)])
    streams_[at(device)]->end(task);
  else
    lanes_[at(device)].end(task);
  for (const Index tensor : problem_.outputs_of(task)) publish(tensor, query_.memory(task), now_ns);
}

void Simulation::arrive(Index index, Ns now_ns) {
  const Copy copy = copies_[at(index)];
  Wire& wire = wires_[at(copy.link)];
  const Index next = wire.arrive(problem_.tensor(copy.tensor).size_bytes);
  if (next != nobody) expect(next);
  if (wire.is_waiting()) is_asked_ = true;
  const Index memory = problem_.link(copy.link).target;
  for (const Index task : problem_.consumers_of(copy.tensor))
    if (query_.memory(task) == memory) deliver(task, now_ns);
  if (query_.holds.empty()) return;
  for (const Index task : query_.holds.waiters_of(copy.tensor))
    if (query_.memory(task) == memory) deliver(task, now_ns);
}

void Simulation::publish(Index index, Index home, Ns now_ns) {
  const Problem::Tensor& tensor = problem_.tensor(index);
  const Index host = problem_.device(0).memory;
  const bool is_everywhere = tensor.size_bytes == 0;
  bool is_wanted_away = !is_everywhere && tensor.is_output && home != host;
  if (is_wanted_away) urgency_[at(host)] = Asked::last;
  for (const Index task : problem_.consumers_of(index)) {
    const Index memory = query_.memory(task);
    if (is_everywhere || memory == home) {
      deliver(task, now_ns);
      continue;
    }
    is_wanted_away = true;
    Index& urgency = urgency_[at(memory)];
    const Index rank = query_.rank_of[at(task)];
    urgency = urgency == nobody ? rank : std::min(urgency, rank);
  }
  if (is_wanted_away) ask_for_copies(index, home, now_ns);
  if (!query_.holds.empty()) release(index, home, now_ns);
}

void Simulation::release(Index index, Index home, Ns now_ns) {
  const bool is_everywhere = problem_.tensor(index).size_bytes == 0;
  for (const Index task : query_.holds.waiters_of(index))
    if (is_everywhere || query_.memory(task) == home) deliver(task, now_ns);
  query_.holds.made(index, [&](Index tensor, Index memory, Index urgency) {
    wires_[at(problem_.link_between(home, memory))].ask({urgency, tensor, now_ns});
    is_asked_ = true;
  });
}

void Simulation::ask_for_copies(Index tensor, Index home, Ns now_ns) {
  for (Index memory = 0; memory < problem_.memory_count(); ++memory) {
    Index& urgency = urgency_[at(memory)];
    if (urgency == nobody) continue;
    if (query_.holds.empty() || !query_.holds.keeps(tensor, memory, urgency))
      wires_[at(problem_.link_between(home, memory))].ask({urgency, tensor, now_ns});
    urgency = nobody;
  }
  is_asked_ = true;
}

void Simulation::deliver(Index task, Ns now_ns) {
  if (--query_.missing[at(task)] == 0) return enqueue(task, now_ns);
  if (!problem_.has_streams()) return;
  const auto& streams = streams_[at(query_.home(task))];
  if (streams) streams->wake();  // what the task still lacks may be on its way
}

void Simulation::enqueue(Index task, Ns now_ns) {
  query_.ready_ns[at(task)] = now_ns;
  const Index device = query_.home(task);
  if (streams_[at(device)])
    streams_[at(device)]->enqueue(task);
  else
    lanes_[at(device)].enqueue(task);
}

void Simulation::launch_copies(Ns now_ns) {
  if (!is_asked_) return;
  is_asked_ = false;
  for (Index link = 0; link < problem_.link_count(); ++link) {
    Wire& wire = wires_[at(link)];
    while (const Asked* const asked = wire.take_next()) {
      const Held held = wire.start(problem_.tensor(asked->tensor).size_bytes, now_ns);
      send({asked->tensor, link, asked->ready_ns, held.start_ns, held.end_ns});
    }
  }
}

/// Only the first copy of a link that will arrive is an event.
void Simulation::send(const Copy& copy) {
  const auto index = static_cast<Index>(copies_.size());
  copies_.push_back(copy);
  if (wires_[at(copy.link)].send(index)) expect(index);
}

void Simulation::expect(Index copy) {
  query_.events.push(copies_[at(copy)].end_ns, Happening::copy_arrives, copy);
}

/// Devices do not notice each other within a moment.
void Simulation::dispatch(Ns now_ns) {
  for (Lanes& lanes : lanes_) lanes.dispatch(now_ns);
  if (!problem_.has_streams()) return;
  for (const auto& streams : streams_)
    if (streams) streams->dispatch(now_ns);
}

}  // namespace placement
