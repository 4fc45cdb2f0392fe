#include "devices/cuda/in_flight.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace engine::cuda {

void InFlight::add(Submitted entry) {
  entry.number = ++next_number_;
  OfRun& of_run = runs_[entry.task.run];
  if (++of_run.count == 1) {
    entry.task.run->add_reference();
    of_run.hold = RunPtr(entry.task.run);
  }
  streams_[entry.stamp.stream].push_back(std::move(entry));
}

std::vector<Submitted> InFlight::take_passed(const Streams& streams) {
  std::vector<Submitted> passed;
  for (std::uint32_t stream = 0; stream < streams_.size(); ++stream) {
    auto& queue = streams_[stream];
    for (; !queue.empty() && queue.front().stamp.position <= streams.passed(stream);
         queue.pop_front())
      passed.push_back(std::move(queue.front()));
  }
  std::ranges::sort(passed, {}, &Submitted::number);
  return passed;
}

std::vector<Submitted> InFlight::take_all() {
  std::vector<Submitted> all;
  for (auto& queue : streams_) {
    std::ranges::move(queue, std::back_inserter(all));
    queue.clear();
  }
  std::ranges::sort(all, {}, &Submitted::number);
  return all;
}

std::optional<RunPtr> InFlight::end(const Run& run) {
  const auto found = runs_.find(&run);
  if (--found->second.count > 0) return std::nullopt;
  std::optional<RunPtr> hold(std::move(found->second.hold));
  runs_.erase(found);
  return hold;
}

}  // namespace engine::cuda
