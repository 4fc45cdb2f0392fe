#include "simulation.hpp"

#include <algorithm>

namespace placement {

namespace {

std::size_t at(Index index) { return static_cast<std::size_t>(index); }

}  // namespace

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
  begin(placed);
  for (Index task = 0; task < problem_.task_count(); ++task)
    if (query_.missing[at(task)] == 0) enqueue(task, 0);
  for (const Index tensor : problem_.given()) publish(tensor, problem_.device(0).memory, 0);
  launch_copies(0);
  dispatch(0);
  while (!query_.events.empty()) {
    const Ns now_ns = query_.events.front().at_ns;
    const auto is_now = [&] {
      return !query_.events.empty() && query_.events.front().at_ns == now_ns;
    };
    while (is_now()) {
      while (is_now()) book(query_.pop(), now_ns);
      launch_copies(now_ns);
    }
    dispatch(now_ns);
  }
}

void Simulation::begin(const Placed& placed) {
  query_.begin(placed);
  std::ranges::fill(is_used_, 0);
  for (const Index device : query_.device_of) is_used_[at(device)] = 1;
  for (Lanes& lanes : lanes_) lanes.reset();
  for (const auto& streams : streams_)
    if (streams) streams->reset();
  for (Index link = 0; link < problem_.link_count(); ++link)
    wires_[at(link)].reset(thread_of(problem_.link(link)));
  copies_.clear();
  makespan_ns_ = 0;
}

/// The device whose thread submits a link's copies: the target's, unless that is the host's.
Streams* Simulation::thread_of(const Link& link) noexcept {
  const Index memory = link.target == problem_.device(0).memory ? link.source : link.target;
  for (Index device = 0; device < problem_.device_count(); ++device)
    if (streams_[at(device)] && is_used_[at(device)] && problem_.device(device).memory == memory)
      return streams_[at(device)].get();
  return nullptr;
}

void Simulation::book(const Event& event, Ns now_ns) {
  if (event.what == Happening::wakes) return;
  makespan_ns_ = now_ns;
  if (event.what == Happening::task_ends)
    end(event.index, now_ns);
  else
    arrive(event.index, now_ns);
}

void Simulation::end(Index task, Ns now_ns) {
  const Index device = query_.device(task);
  if (streams_[at(device)])
    streams_[at(device)]->end(task);
  else
    lanes_[at(device)].end(task);
  for (const Index tensor : problem_.outputs_of(task)) publish(tensor, query_.memory(task), now_ns);
}

void Simulation::arrive(Index index, Ns now_ns) {
  const Copy copy = copies_[at(index)];
  if (wires_[at(copy.link)].arrive(problem_.tensor(copy.tensor).size_bytes)) is_asked_ = true;
  const Index memory = problem_.link(copy.link).target;
  for (const Index task : problem_.consumers_of(copy.tensor))
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
}

void Simulation::ask_for_copies(Index tensor, Index home, Ns now_ns) {
  for (Index memory = 0; memory < problem_.memory_count(); ++memory) {
    Index& urgency = urgency_[at(memory)];
    if (urgency == nobody) continue;
    wires_[at(problem_.link_between(home, memory))].ask({urgency, tensor, now_ns});
    urgency = nobody;
  }
  is_asked_ = true;
}

void Simulation::deliver(Index task, Ns now_ns) {
  if (--query_.missing[at(task)] == 0) enqueue(task, now_ns);
}

void Simulation::enqueue(Index task, Ns now_ns) {
  query_.ready_ns[at(task)] = now_ns;
  const Index device = query_.device(task);
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
    while (const auto asked = wire.take_next()) {
      const Held held = wire.start(problem_.tensor(asked->tensor).size_bytes, now_ns);
      const auto copy = static_cast<Index>(copies_.size());
      copies_.push_back({asked->tensor, link, asked->ready_ns, held.start_ns, held.end_ns});
      query_.push({held.end_ns, Happening::copy_arrives, copy});
    }
  }
}

void Simulation::dispatch(Ns now_ns) {
  for (Index device = 0; device < problem_.device_count(); ++device) {
    if (streams_[at(device)])
      streams_[at(device)]->dispatch(now_ns);
    else
      lanes_[at(device)].dispatch(now_ns);
  }
}

}  // namespace placement
