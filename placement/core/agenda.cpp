#include "agenda.hpp"

#include <algorithm>
#include <limits>
#include <ranges>

namespace placement {

void Journal::undo() {
  for (const Booked& booked : std::views::reverse(booked_))
    booked.lane->give_back(booked.gap, booked.start_ns, booked.end_ns);
  booked_.clear();
}

Ns Agenda::earliest_ns(Ns ready_ns, Ns service_ns, std::int64_t width) const {
  if (width > 1) {
    std::vector<Ns> ends_ns;
    for (const Gaps& lane : lanes_) ends_ns.push_back(lane.end_of_work_ns());
    const auto last = ends_ns.begin() + (width - 1);
    std::ranges::nth_element(ends_ns, last);
    return std::max(ready_ns, *last);
  }
  Ns earliest_ns = std::numeric_limits<Ns>::max();
  for (const Gaps& lane : lanes_) {
    earliest_ns = std::min(earliest_ns, lane.earliest_ns(ready_ns, service_ns));
    if (earliest_ns == ready_ns) break;
  }
  return earliest_ns;
}

void Agenda::book(Ns start_ns, Ns service_ns, std::int64_t width, Journal* journal) {
  const Ns end_ns = later(start_ns, service_ns);
  for (Gaps& lane : lanes_) {
    if (width == 0) return;
    const auto gap = lane.take(start_ns, end_ns);
    if (!gap) continue;
    if (journal) journal->add({&lane, *gap, start_ns, end_ns});
    --width;
  }
}

DeviceAgenda::DeviceAgenda(const Problem& problem, Index device)
    : problem_(&problem), device_(device), lanes_(problem.device(device).lanes), thread_(1) {}

Start DeviceAgenda::earliest(Index task, Index place, Ns ready_ns) const {
  Ns submission_ns = 0;
  if (const Ns held_ns = this->held_ns(task); held_ns > 0) {
    const Ns submit_ns = problem_->device(device_).submit_ns;
    submission_ns = thread_.earliest_ns(std::max<Ns>(0, ready_ns - submit_ns), held_ns, 1);
    ready_ns = std::max(ready_ns, later(submission_ns, submit_ns));
  }
  const Ns service_ns = problem_->service_ns(task, place);
  return {lanes_.earliest_ns(ready_ns, service_ns, problem_->width(task, place)), submission_ns};
}

void DeviceAgenda::book(Index task, Index place, const Start& start, Journal* journal) {
  if (const Ns held_ns = this->held_ns(task); held_ns > 0)
    thread_.book(start.submission_ns, held_ns, 1, journal);
  lanes_.book(start.start_ns, problem_->service_ns(task, place), problem_->width(task, place),
              journal);
}

Ns DeviceAgenda::held_ns(Index task) const noexcept {
  return problem_->device(device_).submit_ns + problem_->launch_ns(task, device_);
}

}  // namespace placement
