// The placement problem as flat arrays: what placement/problem.py means, without a Python object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index_lists.hpp"
#include "times.hpp"

namespace placement {

struct Device {
  std::string name;
  std::int64_t lanes = 1;
  Index memory = 0;
  Ns submit_ns = 0;
  std::vector<double> slowdown;  ///< by busy lanes less one; the last holds for more
};

struct Link {
  Index source = 0, target = 0;  ///< memories
  Ns latency_ns = 0;
  double bytes_per_s = 0;
  Ns occupancy_ns = 0;
  std::optional<std::int64_t> staging_bytes;
  bool is_pageable = false;
};

/// Time of a task where it cannot run.
constexpr Ns cannot_run_ns = -1;

/// A task as it is handed over, with a number for each place.
struct TaskRow {
  std::string name;
  std::vector<std::optional<Ns>> service_ns;  ///< none where it cannot run
  std::vector<std::int64_t> widths;           ///< empty: 1 everywhere
  std::vector<Ns> launch_ns;                  ///< empty: 0 everywhere
};

/// A tensor as it is handed over.
struct TensorRow {
  Index producer = nobody;
  std::vector<Index> consumers;
  std::int64_t size_bytes = 0;
  bool is_output = false;
};

/// Tasks in a topological order, tensors and the machine. Never changes, so any thread may read it.
///
/// A place is a device, or a device once more for the tasks that may take more lanes of it: of
/// which task it is the width is the task's. The devices are the first places, and what is asked of
/// a device may be asked of any place of its.
class Problem {
 public:
  struct Tensor {
    std::int64_t size_bytes;
    Index producer;
    bool is_output;
  };

  /// `homes` has the device of each place beyond the devices. Throws std::invalid_argument, naming
  /// what is wrong, where an index or a number is out of range.
  Problem(std::vector<Device> devices, std::vector<Link> links, const std::vector<TaskRow>& tasks,
          const std::vector<TensorRow>& tensors, const std::vector<Index>& homes = {});

  [[nodiscard]] Index task_count() const noexcept { return static_cast<Index>(names_.size()); }
  [[nodiscard]] Index tensor_count() const noexcept { return static_cast<Index>(tensors_.size()); }
  [[nodiscard]] Index device_count() const noexcept { return device_count_; }
  [[nodiscard]] Index place_count() const noexcept { return static_cast<Index>(place_count_); }
  [[nodiscard]] Index memory_count() const noexcept { return memory_count_; }
  [[nodiscard]] Index link_count() const noexcept { return static_cast<Index>(links_.size()); }

  [[nodiscard]] const Device& device(Index index) const noexcept { return devices_[at(index)]; }
  /// The device whose lanes a place is of.
  [[nodiscard]] Index home(Index place) const noexcept { return homes_[at(place)]; }
  [[nodiscard]] Index memory(Index place) const noexcept { return memories_[at(place)]; }
  [[nodiscard]] const Link& link(Index index) const noexcept { return links_[at(index)]; }
  [[nodiscard]] const Tensor& tensor(Index index) const noexcept { return tensors_[at(index)]; }
  [[nodiscard]] const std::string& name(Index task) const noexcept { return names_[at(task)]; }

  /// The link between two memories.
  [[nodiscard]] Index link_between(Index source, Index target) const noexcept {
    return link_between_[at(source) * at(memory_count_) + at(target)];
  }

  [[nodiscard]] bool can_run(Index task, Index device) const noexcept {
    return service_ns(task, device) >= 0;
  }
  [[nodiscard]] Ns service_ns(Index task, Index device) const noexcept {
    return service_ns_[cell(task, device)];
  }
  /// Lanes that a task occupies.
  [[nodiscard]] std::int64_t width(Index task, Index device) const noexcept {
    return has_wide(device) ? widths_[cell(task, device)] : 1;
  }
  /// How long a task holds the submitting thread after it could start.
  [[nodiscard]] Ns launch_ns(Index task, Index device) const noexcept {
    return launch_ns_[cell(task, device)];
  }

  /// Whether any task may occupy several lanes of the device.
  [[nodiscard]] bool has_wide(Index device) const noexcept { return has_wide_[at(device)] != 0; }
  /// Whether any copy holds the thread that submits.
  [[nodiscard]] bool has_pageable_links() const noexcept { return has_pageable_links_; }
  /// Whether streams.hpp has the device's rules rather than lanes.hpp.
  [[nodiscard]] bool has_streams(Index device) const noexcept {
    return has_streams_[at(device)] != 0;
  }

  /// Whether any device has.
  [[nodiscard]] bool has_streams() const noexcept { return has_any_streams_; }

  /// Tensors that a task reads, and those that it makes.
  [[nodiscard]] std::span<const Index> inputs_of(Index task) const noexcept {
    return inputs_[task];
  }
  [[nodiscard]] std::span<const Index> outputs_of(Index task) const noexcept {
    return outputs_[task];
  }
  /// How many tensors each task reads.
  [[nodiscard]] const std::vector<Index>& input_counts() const noexcept { return input_counts_; }
  /// Tasks that read none.
  [[nodiscard]] const std::vector<Index>& first_tasks() const noexcept { return first_tasks_; }
  /// Tasks that read a tensor.
  [[nodiscard]] std::span<const Index> consumers_of(Index tensor) const noexcept {
    return consumers_[tensor];
  }
  /// Tensors that no task makes.
  [[nodiscard]] const std::vector<Index>& given() const noexcept { return given_; }

  /// How long a copy holds a link: rounded half to even, as Python does. std::range_error: too
  /// long.
  [[nodiscard]] static Ns hold_ns(const Link& link, std::int64_t size_bytes) {
    const double ns = static_cast<double>(size_bytes) * 1e9 / link.bytes_per_s;
    return later(link.occupancy_ns, whole_ns(nearest_whole(ns)));
  }
  /// From the start of a copy between two devices' memories until its data is there; as hold_ns.
  [[nodiscard]] Ns copy_ns(Index source, Index target, std::int64_t size_bytes) const;
  /// Service time of a task that starts with so many busy lanes, its own included; as hold_ns.
  [[nodiscard]] Ns slowed_ns(Index task, Index device, std::int64_t busy) const {
    const std::vector<double>& slowdown = this->device(device).slowdown;
    const Ns ns = service_ns(task, device);
    if (slowdown.empty()) return ns;
    const auto place = std::min(static_cast<std::size_t>(busy), slowdown.size()) - 1;
    return whole_ns(static_cast<double>(ns) * slowdown[place]);
  }

 private:
  std::size_t cell(Index task, Index device) const noexcept {
    return at(task) * place_count_ + at(device);
  }
  void check_machine();
  void add_places(const std::vector<Index>& homes);
  void add_tasks(const std::vector<TaskRow>& tasks);
  void add_row(const TaskRow& task);
  void add_tensors(const std::vector<TensorRow>& tensors);
  void find_links();
  void find_streams();

  std::vector<Device> devices_;          // by place
  std::vector<Index> homes_, memories_;  // by place
  Index device_count_;
  std::size_t place_count_ = 0;  // once all are known
  std::vector<Link> links_;
  Index memory_count_ = 0;
  bool has_pageable_links_ = false, has_any_streams_ = false;
  std::vector<Index> link_between_;  // by source and target memory
  std::vector<std::string> names_;   // of tasks
  std::vector<Ns> service_ns_;       // by task and place, as the next two
  std::vector<std::int64_t> widths_;
  std::vector<Ns> launch_ns_;
  std::vector<char> has_wide_, has_streams_;  // by place
  std::vector<Tensor> tensors_;
  IndexLists inputs_, outputs_, consumers_;
  std::vector<Index> given_, input_counts_, first_tasks_;
};

}  // namespace placement
