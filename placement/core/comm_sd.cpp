#include "comm_sd.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace placement {

namespace {

constexpr Index host = 0;

class CommSD {
 public:
  CommSD(const Problem& problem, std::span<const std::int64_t> default_device, Ns alpha_ns);

  std::vector<std::int64_t> run(int most_passes);

 private:
  Index home(Index task) const { return static_cast<Index>(default_[at(task)]); }
  Index here(Index task) const { return static_cast<Index>(device_of_[at(task)]); }
  /// Which device a task is judged against.
  Index target(Index task) const;
  /// One pass in topological order, in place; whether anything changed.
  bool send_back();
  Ns communication_ns(Index task);
  Ns outputs_ns(Index task, Index tensor);

  const Problem& problem_;
  std::span<const std::int64_t> default_;
  Ns alpha_ns_;
  std::vector<std::int64_t> device_of_;
  std::vector<char> is_returned_;
  std::vector<char> is_reached_;  // by memory, within outputs_ns
};

CommSD::CommSD(const Problem& problem, std::span<const std::int64_t> default_device, Ns alpha_ns)
    : problem_(problem),
      default_(default_device),
      alpha_ns_(alpha_ns),
      device_of_(default_device.begin(), default_device.end()),
      is_returned_(device_of_.size()),
      is_reached_(at(problem.memory_count())) {
  if (device_of_.size() != at(problem.task_count()))
    throw std::invalid_argument("comm_sd: a default device is needed for each task");
  for (Index task = 0; task < problem.task_count(); ++task) {
    if (home(task) < 0 || home(task) >= problem.device_count() ||
        !problem.can_run(task, home(task)))
      throw std::invalid_argument("task '" + problem.name(task) +
                                  "' cannot run on its default device");
    const bool can_overflow = home(task) != host && problem.can_run(task, host);
    if (can_overflow &&
        problem.service_ns(task, host) - problem.service_ns(task, home(task)) < alpha_ns)
      device_of_[at(task)] = host;
  }
}

std::vector<std::int64_t> CommSD::run(int most_passes) {
  for (int pass = 0; pass < most_passes; ++pass)
    if (!send_back()) break;
  return device_of_;
}

Index CommSD::target(Index task) const {
  if (here(task) != home(task)) return home(task);
  Index fastest = home(task);
  for (Index device = 0; device < problem_.device_count(); ++device)
    if (problem_.can_run(task, device) &&
        problem_.service_ns(task, device) < problem_.service_ns(task, fastest))
      fastest = device;
  return fastest;
}

bool CommSD::send_back() {
  bool has_changed = false;
  for (Index task = 0; task < problem_.task_count(); ++task) {
    const Index target = this->target(task);
    if (here(task) == target || is_returned_[at(task)]) continue;
    const Ns here_ns = later(problem_.service_ns(task, here(task)), communication_ns(task));
    if (here_ns <= later(problem_.service_ns(task, target), alpha_ns_)) continue;
    device_of_[at(task)] = target;
    is_returned_[at(task)] = 1;
    has_changed = true;
  }
  return has_changed;
}

Ns CommSD::communication_ns(Index task) {
  Ns total_ns = 0;
  for (const Index index : problem_.inputs_of(task)) {
    const Problem::Tensor& tensor = problem_.tensor(index);
    const Index source = tensor.producer == nobody ? host : here(tensor.producer);
    total_ns = later(total_ns, problem_.copy_ns(source, here(task), tensor.size_bytes));
  }
  for (const Index index : problem_.outputs_of(task))
    total_ns = later(total_ns, outputs_ns(task, index));
  return total_ns;
}

/// Copies of a tensor to each memory that it has to reach.
Ns CommSD::outputs_ns(Index task, Index index) {
  const Problem::Tensor& tensor = problem_.tensor(index);
  std::ranges::fill(is_reached_, 0);
  Ns total_ns = 0;
  const auto reach = [&](Index device) {
    char& is_reached = is_reached_[at(problem_.device(device).memory)];
    if (is_reached == 0)
      total_ns = later(total_ns, problem_.copy_ns(here(task), device, tensor.size_bytes));
    is_reached = 1;
  };
  for (const Index reader : problem_.consumers_of(index)) reach(here(reader));
  if (tensor.is_output) reach(host);
  return total_ns;
}

}  // namespace

std::vector<std::int64_t> comm_sd(const Problem& problem,
                                  std::span<const std::int64_t> default_device, Ns alpha_ns,
                                  int most_passes) {
  return CommSD(problem, default_device, alpha_ns).run(most_passes);
}

}  // namespace placement
