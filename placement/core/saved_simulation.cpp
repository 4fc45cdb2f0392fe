// A simulation's state, kept and gone back to: what a replay begins with.

#include <algorithm>
#include <functional>

#include "simulation.hpp"

namespace placement {

void Simulation::save(Saved& saved) {
  saved.ended = ended_;
  saved.ended_hash = ended_hash_;
  saved.missing = query_.missing;
  save(saved.moment);
}

void Simulation::save(Moment& moment) {
  moment.coming.clear();
  listed_.clear();
  query_.events.add_to(listed_);
  for (const Wire& wire : wires_)
    for (const Index copy : wire.behind_next())
      listed_.push_back({copies_[at(copy)].end_ns, Happening::copy_arrives, copy});
  std::ranges::sort(listed_, std::less{});
  for (const Event& event : listed_) {
    Coming coming{event.at_ns - now_ns_, event.what, event.index, nobody};
    if (event.what == Happening::copy_arrives) {
      const Copy& copy = copies_[at(event.index)];
      coming.index = copy.tensor;
      coming.link = copy.link;
    }
    moment.coming.push_back(coming);
  }
  moment.devices.resize(lanes_.size());
  for (std::size_t device = 0; device < lanes_.size(); ++device) {
    if (streams_[device])
      streams_[device]->save(moment.devices[device], now_ns_);
    else
      lanes_[device].save(moment.devices[device]);
  }
  moment.links.resize(wires_.size());
  for (std::size_t link = 0; link < wires_.size(); ++link)
    wires_[link].save(moment.links[link], now_ns_);
}

std::size_t Simulation::coming() const noexcept {
  std::size_t count = query_.events.size();
  for (const Wire& wire : wires_) count += wire.behind_next().size();
  return count;
}

bool Simulation::is_at(const Saved& saved, Moment& scratch) {
  if (saved.ended != ended_ || saved.ended_hash != ended_hash_) return false;
  if (saved.moment.coming.size() != coming()) return false;
  save(scratch);
  return scratch == saved.moment && query_.missing == saved.missing;
}

void Simulation::restore(const Saved& saved, Ns now_ns) {
  now_ns_ = makespan_ns_ = now_ns;
  ended_ = saved.ended;
  ended_hash_ = saved.ended_hash;
  is_asked_ = false;
  std::ranges::fill(urgency_, nobody);
  query_.missing = saved.missing;
  if (problem_.has_streams()) {
    std::ranges::fill(query_.launched_ns, -1);
    std::ranges::fill(query_.is_running, 0);
  }
  for (std::size_t device = 0; device < lanes_.size(); ++device) {
    if (streams_[device])
      streams_[device]->restore(saved.moment.devices[device], now_ns_);
    else
      lanes_[device].restore(saved.moment.devices[device]);
  }
  for (std::size_t link = 0; link < wires_.size(); ++link)
    wires_[link].restore(saved.moment.links[link], now_ns_);
  restore_coming(saved.moment.coming);
}

/// Copies get new numbers, in their old order.
void Simulation::restore_coming(const std::vector<Coming>& all) {
  copies_.clear();
  query_.events.clear();
  for (const Coming& coming : all) {
    const Event event{now_ns_ + coming.in_ns, coming.what, coming.index};
    if (event.what == Happening::copy_arrives) {
      send({coming.index, coming.link, now_ns_, now_ns_, event.at_ns});
      continue;
    }
    if (event.what == Happening::task_ends) query_.end_ns[at(event.index)] = event.at_ns;
    query_.events.push(event.at_ns, event.what, event.index);
  }
}

}  // namespace placement
