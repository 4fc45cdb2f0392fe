#include "scheduler/lane_outlook.hpp"

#include <algorithm>
#include <cmath>

namespace engine {

namespace {

/// Of the time until something ends: by so much all runs may be slower.
constexpr double common_error = 0.1;

/// What later runs leave of a promised one's margin. All of it would refuse twice as many, and one
/// of 200 promises is broken with this (cameras of `bench neighbours`).
std::int64_t kept_margin(std::int64_t margin_ns) { return margin_ns / 4 * 3; }

std::int64_t in_hand_left_ns(const LaneOutlook::Work& work, std::int64_t now_ns) {
  const std::int64_t done_ns = work.computing * now_ns - work.since_ns;
  return std::clamp<std::int64_t>(work.in_hand_ns - done_ns, 0, work.left_ns);
}

/// Lanes are not kept free for one that waits elsewhere: what comes behind it has them meanwhile.
Outlook put_off(Outlook found, const LaneOutlook::Work& work, std::int64_t now_ns) {
  if (work.least_end_ns <= found.end_ns && work.least_start_ns <= found.start_ns) return found;
  found.start_ns = std::max(found.start_ns, work.least_start_ns);
  found.end_ns = std::max(found.end_ns, work.least_end_ns);
  const double common = common_error * static_cast<double>(found.end_ns - now_ns);
  found.margin_ns = std::max(found.margin_ns, static_cast<std::int64_t>(common));
  return found;
}

/// What is best effort computes on lanes of its own, and gives way to all that is not.
bool keeps_lanes(const LaneOutlook::Work& work, const RunOrder& newcomer) {
  if (work.order.is_best_effort() && !newcomer.is_best_effort()) return false;
  return work.computing > 0 && (work.width > 1 || !newcomer.preempts(work.order));
}

}  // namespace

std::size_t LaneOutlook::place_of(const RunOrder& order) const {
  const auto found = std::ranges::lower_bound(runs_, order, {}, &Work::order);
  return static_cast<std::size_t>(found - runs_.begin());
}

LaneOutlook::Work* LaneOutlook::find(const RunOrder& order) {
  const std::size_t place = place_of(order);
  return place < runs_.size() && runs_[place].order == order ? &runs_[place] : nullptr;
}

/// Takes the lanes that are first free, as many as it is wide.
Outlook LaneOutlook::take(Lanes& lanes, int width, std::int64_t work_ns, std::int64_t margin_ns,
                          std::int64_t now_ns) const {
  const auto count = static_cast<std::ptrdiff_t>(std::clamp(width, 1, lanes_));
  Lane until = lanes.front();
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    std::pop_heap(lanes.begin(), lanes.end() - i);
    const Lane& lane = *(lanes.end() - i - 1);
    until = {std::max(until.free_ns, lane.free_ns),
             std::max(until.squared_margin, lane.squared_margin)};
  }
  Outlook outlook{.start_ns = until.free_ns, .end_ns = until.free_ns + work_ns / count};
  const double own = static_cast<double>(margin_ns) / static_cast<double>(count);
  const double common = common_error * static_cast<double>(outlook.end_ns - now_ns);
  until = {outlook.end_ns, until.squared_margin + own * own};
  outlook.margin_ns = static_cast<std::int64_t>(std::sqrt(until.squared_margin + common * common));
  for (std::ptrdiff_t i = count - 1; i >= 0; --i) {
    *(lanes.end() - i - 1) = until;
    std::push_heap(lanes.begin(), lanes.end() - i);
  }
  return outlook;
}

Outlook LaneOutlook::take_run(Lanes& lanes, const Work& work, bool holds_lanes,
                              std::int64_t now_ns) const {
  const std::int64_t in_hand_ns = in_hand_left_ns(work, now_ns);
  const std::int64_t begun_ns = work.in_hand_ns - in_hand_ns;
  std::int64_t left_ns = std::max<std::int64_t>(work.left_ns - begun_ns, 0);
  if (holds_lanes) left_ns = std::max<std::int64_t>(left_ns - in_hand_ns, 0);
  return put_off(take(lanes, work.width, left_ns, work.margin_ns, now_ns), work, now_ns);
}

/// All lanes as they are: with what does not make way for the newcomer.
void LaneOutlook::occupy(const Work& newcomer, std::int64_t now_ns) {
  with_.assign(static_cast<std::size_t>(lanes_), Lane{now_ns, 0});
  for (const Work& work : runs_)
    if (keeps_lanes(work, newcomer.order))
      static_cast<void>(take(with_, work.computing, in_hand_left_ns(work, now_ns), 0, now_ns));
}

void LaneOutlook::share(std::span<const Elsewhere> others, int spare) {
  elsewhere_.assign(others.begin(), others.end());
  spare_ = std::max(spare, 0);
}

/// What goes before the newcomer in other processes: they take cores in the same order.
void LaneOutlook::occupy_elsewhere(const RunOrder& newcomer, std::int64_t now_ns) {
  int spare = spare_;
  for (const Elsewhere& other : elsewhere_) {
    if (newcomer.preempts(other.order)) continue;
    const int lanes = std::min(other.lanes - std::min(spare, other.lanes), lanes_);
    spare -= std::min(spare, other.lanes);
    if (lanes > 0) static_cast<void>(take(with_, lanes, lanes * other.left_ns, 0, now_ns));
  }
}

LaneOutlook::Forecast LaneOutlook::forecast(const Work& work, std::int64_t now_ns) {
  occupy(work, now_ns);
  occupy_elsewhere(work.order, now_ns);
  const std::size_t place = newcomers_place_ = place_of(work.order);
  const auto hold = [&](const Work& other) { return keeps_lanes(other, work.order); };
  for (std::size_t i = 0; i < place; ++i)
    static_cast<void>(take_run(with_, runs_[i], hold(runs_[i]), now_ns));
  without_ = with_;
  Forecast found{.outlook = take_run(with_, work, false, now_ns)};
  newcomers_ = found.outlook;
  outlooks_.clear();
  if (promised_ == 0) return found;
  for (std::size_t i = place; i < runs_.size(); ++i) {
    const Work& other = runs_[i];
    const Outlook before = take_run(without_, other, hold(other), now_ns);
    const Outlook after = take_run(with_, other, hold(other), now_ns);
    outlooks_.push_back(after);
    // What would be late in any case is nobody's fault.
    if (other.due_ns == nothing_promised || before.surely_ns() > other.due_ns) continue;
    found.harms_ns =
        std::max(found.harms_ns, after.end_ns + kept_margin(after.margin_ns) - other.due_ns);
  }
  return found;
}

std::int64_t LaneOutlook::wait_ns(std::int64_t now_ns) {
  with_.assign(static_cast<std::size_t>(lanes_), Lane{now_ns, 0});
  for (const Work& work : runs_)
    if (!work.order.is_best_effort()) static_cast<void>(take_run(with_, work, false, now_ns));
  return with_.front().free_ns - now_ns;
}

void LaneOutlook::add(const Work& work) {
  const auto place = static_cast<std::ptrdiff_t>(newcomers_place_);
  for (std::size_t i = 0; i < outlooks_.size(); ++i)
    runs_[newcomers_place_ + i].outlook = outlooks_[i];
  runs_.insert(runs_.begin() + place, work)->outlook = newcomers_;
  promised_ += work.due_ns != nothing_promised ? 1U : 0U;
}

LaneOutlook::Work LaneOutlook::remove(const RunOrder& order) {
  const std::size_t place = place_of(order);
  if (place == runs_.size() || runs_[place].order != order) return {};
  const Work work = runs_[place];
  promised_ -= work.due_ns != nothing_promised ? 1U : 0U;
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(place));
  return work;
}

void LaneOutlook::begin(const RunOrder& order, int lanes, std::int64_t expected_ns,
                        std::int64_t now_ns) {
  Work* const work = find(order);
  if (work == nullptr) return;
  work->computing += lanes;
  work->since_ns += lanes * now_ns;
  work->in_hand_ns += expected_ns;
}

void LaneOutlook::end(const RunOrder& order, int lanes, std::int64_t expected_ns,
                      std::int64_t began_ns) {
  Work* const work = find(order);
  if (work == nullptr) return;
  work->computing -= lanes;
  work->since_ns -= lanes * began_ns;
  work->in_hand_ns -= expected_ns;
  work->left_ns = std::max<std::int64_t>(work->left_ns - expected_ns, 0);
}

}  // namespace engine
