#include "problem.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace placement {

namespace {

void check(bool is_right, const std::string& what) {
  if (!is_right) throw std::invalid_argument(what);
}

bool is_time(Ns ns) { return ns >= 0 && ns < end_of_times_ns; }

bool is_index(Index index, std::size_t count) {
  return index >= 0 && static_cast<std::size_t>(index) < count;
}

}  // namespace

Problem::Problem(std::vector<Device> devices, std::vector<Link> links,
                 const std::vector<TaskRow>& tasks, const std::vector<TensorRow>& tensors,
                 const std::vector<Index>& homes)
    : devices_(std::move(devices)),
      device_count_(static_cast<Index>(devices_.size())),
      links_(std::move(links)) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<Index>::max());
  check(tasks.size() < most && tensors.size() < most, "problem: more than 2^31 tasks or tensors");
  check(!devices_.empty(), "at least one device is needed");
  check_machine();
  find_links();
  add_places(homes);
  add_tasks(tasks);
  add_tensors(tensors);
  find_streams();
}

void Problem::check_machine() {
  const std::size_t most_memories = devices_.size() + 2 * links_.size();
  const auto count = [&](Index memory, const std::string& who) {
    check(is_index(memory, most_memories), who + "a memory is unknown");
    memory_count_ = std::max(memory_count_, memory + 1);
  };
  for (const Device& device : devices_) {
    const std::string who = "device '" + device.name + "': ";
    count(device.memory, who);
    check(device.lanes >= 1, who + "lanes must be >= 1");
    check(is_time(device.submit_ns), who + "submit_ns must be from 0 to below 2^62");
    for (const double factor : device.slowdown) check(factor > 0, who + "slowdown must be > 0");
  }
  for (const Link& link : links_) {
    count(link.source, "links: ");
    count(link.target, "links: ");
    check(is_time(link.latency_ns) && is_time(link.occupancy_ns),
          "links: latency_ns and occupancy_ns must be from 0 to below 2^62");
    check(link.bytes_per_s > 0, "links: bytes_per_s must be > 0");
    has_pageable_links_ |= link.is_pageable;
  }
}

void Problem::find_links() {
  const auto memories = at(memory_count_);
  link_between_.assign(memories * memories, nobody);
  for (std::size_t i = 0; i < links_.size(); ++i)
    link_between_[at(links_[i].source) * memories + at(links_[i].target)] = static_cast<Index>(i);
  for (const Device& a : devices_)
    for (const Device& b : devices_)
      check(a.memory == b.memory || link_between(a.memory, b.memory) != nobody,
            "no link from the memory of '" + a.name + "' to that of '" + b.name + "'");
}

void Problem::add_places(const std::vector<Index>& homes) {
  homes_.resize(devices_.size());
  std::iota(homes_.begin(), homes_.end(), 0);
  for (const Index home : homes) {
    check(is_index(home, at(device_count_)), "places: a device is unknown");
    homes_.push_back(home);
    devices_.push_back(Device(device(home)));
  }
  for (const Device& device : devices_) memories_.push_back(device.memory);
  place_count_ = devices_.size();
}

void Problem::add_tasks(const std::vector<TaskRow>& tasks) {
  has_wide_.assign(devices_.size(), 0);
  for (const TaskRow& task : tasks) add_row(task);
  for (std::size_t place = 0; place < homes_.size(); ++place)
    has_wide_[place] = has_wide_[at(homes_[place])];
}

void Problem::add_row(const TaskRow& task) {
  const std::string who = "task '" + task.name + "': ";
  const auto fits = [&](std::size_t size) { return size == 0 || size == devices_.size(); };
  check(task.service_ns.size() == devices_.size() && fits(task.widths.size()) &&
            fits(task.launch_ns.size()),
        who + "service_ns, widths and launch_ns must have a number for each place");
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const std::optional<Ns> service_ns = task.service_ns[d];
    const std::int64_t width = task.widths.empty() ? 1 : task.widths[d];
    const Ns launch_ns = task.launch_ns.empty() ? 0 : task.launch_ns[d];
    check(!service_ns || is_time(*service_ns), who + "service_ns must be from 0 to below 2^62");
    check(is_time(launch_ns), who + "launch_ns must be from 0 to below 2^62");
    check(width >= 1 && width <= devices_[d].lanes, who + "a width is not that of any lanes");
    service_ns_.push_back(service_ns.value_or(cannot_run_ns));
    widths_.push_back(width);
    launch_ns_.push_back(launch_ns);
    if (width > 1) has_wide_[at(homes_[d])] = 1;
  }
  names_.push_back(task.name);
}

void Problem::add_tensors(const std::vector<TensorRow>& tensors) {
  std::vector<std::vector<Index>> inputs(names_.size()), outputs(names_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorRow& tensor = tensors[i];
    const auto index = static_cast<Index>(i);
    const std::string who = "tensor " + std::to_string(i) + ": ";
    check(tensor.producer == nobody || is_index(tensor.producer, names_.size()),
          who + "its producer is unknown");
    check(tensor.size_bytes >= 0, who + "size_bytes is negative");
    for (const Index task : tensor.consumers) {
      check(is_index(task, names_.size()) && task > tensor.producer,
            who + "a consumer is unknown or not after its producer");
      inputs[at(task)].push_back(index);
    }
    (tensor.producer == nobody ? given_ : outputs[at(tensor.producer)]).push_back(index);
    tensors_.push_back({tensor.size_bytes, tensor.producer, tensor.is_output});
    consumers_.add(tensor.consumers);
  }
  for (const auto& row : inputs) {
    if (row.empty()) first_tasks_.push_back(static_cast<Index>(input_counts_.size()));
    input_counts_.push_back(static_cast<Index>(row.size()));
    inputs_.add(row);
  }
  for (const auto& row : outputs) outputs_.add(row);
}

void Problem::find_streams() {
  for (Index d = 0; d < device_count(); ++d) {
    const Device& here = device(d);
    const bool is_pageable = std::ranges::any_of(links_, [&](const Link& link) {
      return link.is_pageable && (link.source == here.memory || link.target == here.memory);
    });
    bool has_launches = false;
    for (Index task = 0; task < task_count(); ++task) has_launches |= launch_ns(task, d) > 0;
    const bool has_rules = here.submit_ns > 0 || !here.slowdown.empty();
    has_streams_.push_back(has_rules || has_launches || is_pageable ? 1 : 0);
    has_any_streams_ |= has_streams(d);
  }
  for (Index place = device_count(); place < place_count(); ++place)
    has_streams_.push_back(has_streams_[at(home(place))]);
}

Ns Problem::copy_ns(Index source, Index target, std::int64_t size_bytes) const {
  const Index from = device(source).memory, to = device(target).memory;
  if (from == to || size_bytes == 0) return 0;
  const Link& link = this->link(link_between(from, to));
  return later(hold_ns(link, size_bytes), link.latency_ns);
}

}  // namespace placement
