#include "scheduler/ready_queue.hpp"

#include <algorithm>
#include <mutex>

#include "scheduler/clock.hpp"
#include "scheduler/run.hpp"

namespace engine {

namespace {

constexpr std::size_t usual_runs = 256;
/// Nodes that are looked at, at most, for one that may start before a wide one.
constexpr int backfill_looks = 256;
/// Late runs that give way at once, at most.
constexpr int late_looks = 64;

const PlanNode& node_at(const Run& run, std::uint32_t position) noexcept {
  return run.plan().node(run.plan().node_at(position));
}

/// Whether who helps `helps` (null: nobody) may take a node.
bool may_take(const Run* helps, const Run& run, const PlanNode& node) noexcept {
  if (helps == nullptr || helps == &run || run.stopped()) return true;
  return node.width == 1 && node.service_ns > 0 && helps->outlasts(node.service_ns);
}

}  // namespace

inline Task ReadyQueue::Place::task() const noexcept {
  return {run, run->plan().node_at(position), 0};
}

ReadyQueue::ReadyQueue(std::uint32_t executor, Seats* seats) : executor_(executor), seats_(seats) {
  runs_.reserve(usual_runs);
  passed_.reserve(alike_looks);
}

void ReadyQueue::push(Run& run, std::span<const std::uint32_t> positions) {
  if (positions.empty()) return;
  const std::lock_guard lock(lock_);
  insert(run, positions);
}

bool ReadyQueue::pop(Task& task, Taker& taker) {
  // relaxed: who makes it true wakes a thread that looks again
  if (shown_run_.load(std::memory_order_relaxed) == nullptr) return false;
  Place place;
  {
    const std::lock_guard lock(lock_);
    if (first_.bits == 0 || !take(place, taker)) return false;
  }
  task = place.task();
  return true;
}

bool ReadyQueue::exchange(Run& run, std::span<const std::uint32_t> positions, Task& task,
                          Taker& taker) {
  Place place;
  {
    const std::lock_guard lock(lock_);
    insert(run, positions);
    if (!take(place, taker)) return false;
  }
  task = place.task();
  return true;
}

std::optional<RunOrder> ReadyQueue::first_order() {
  const std::lock_guard lock(lock_);
  if (first_.bits == 0) return std::nullopt;
  if (front_.order.may_be_late()) let_late_ones_give_way();
  if (width_of_first() > 1) return std::nullopt;
  return front_.order;
}

bool ReadyQueue::suits(const Run& run) {
  const std::lock_guard lock(lock_);
  if (first_.bits == 0) return false;
  if (width_of_first() > 1) return behind_wide(0, &run).has_value();
  return may_take(&run, *front_.run, node_at(*front_.run, first_.first()));
}

void ReadyQueue::look_again() {
  const std::lock_guard lock(lock_);
  show();
}

void ReadyQueue::insert(Run& run, std::span<const std::uint32_t> positions) {
  ReadySet& ready = run.ready(executor_);
  const bool entered = !ready.empty();
  for (const std::uint32_t position : positions) {
    if (front_.run == &run && position / 64 == first_.index && first_.bits != 0)
      first_.bits |= ReadySet::Word::bit(position);
    else
      ready.insert(position);
  }
  add_size(static_cast<std::uint32_t>(positions.size()));
  if (!entered && !ready.empty()) {
    // Known to be late, maybe.
    const bool is_front = front_.run == &run && first_.bits != 0;
    const Plan& plan = run.plan();
    enter({is_front ? front_.order : run.order(), &run, plan.has_wide_nodes(), run.family()});
  }
  if (first_.bits == 0) {
    refill_front();
    show();
  } else if (is_overtaken()) {
    put_back_front();
    refill_front();
    show();
  } else if (front_.has_wide_nodes) {
    show();
  }
}

inline bool ReadyQueue::take(Place& place, Taker& taker) {
  if (front_.order.may_be_late()) [[unlikely]]
    let_late_ones_give_way();
  if (!is_plain(taker)) [[unlikely]]
    return take_with_care(place, taker);
  place = take_first();
  if (first_.bits == 0) next_front();
  return true;
}

bool ReadyQueue::take_with_care(Place& place, Taker& taker) {
  const int width = width_of_first();
  const bool goes = taker.before == nullptr || (width == 1 && front_.order.preempts(*taker.before));
  if (!goes) return false;
  const int missing = std::max(width - taker.seats, 0);
  const PlanNode& node = node_at(*front_.run, first_.first());
  bool found =
      may_take(taker.helps, *front_.run, node) && (missing == 0 || seats_->table.try_take(missing));
  if (found) {
    taker.seats += missing;
    place = take_first();
    if (first_.bits == 0) next_front();
  } else if (const auto candidate = behind_wide(taker.seats, taker.helps)) {
    found = true;
    place = take_from_behind(*candidate);
  }
  show();
  return found;
}

/// Those that come first; the others are looked at when they do.
void ReadyQueue::let_late_ones_give_way() {
  for (int looks = late_looks; looks > 0 && front_.order.may_be_late() && comes_late(); --looks) {
    if (front_.run->is_promised()) return front_.run->drop(now_ns() - front_.order.due_ns);
    front_.order = front_.order.late();
    // The heap holds the same run where it has more nodes than the front.
    if (!runs_.empty() && runs_.front().run == front_.run) {
      std::pop_heap(runs_.begin(), runs_.end());
      runs_.back().order = front_.order;
      std::push_heap(runs_.begin(), runs_.end());
    }
    if (!is_overtaken()) return;
    put_back_front();
    refill_front();
    show();
  }
}

/// As predicted where it has not begun; where it has, only if it is late already. One that was
/// promised ends then, so it must be as good as certain.
bool ReadyQueue::comes_late() const noexcept {
  const Run& run = *front_.run;
  const PlanNode& node = node_at(run, first_.first());
  const std::int64_t takes_ns = node.dependencies != 0 ? 0
                                : run.is_promised()
                                    ? run.plan().least_ns()
                                    : std::max(run.plan().critical_path_ns(), node.service_ns);
  return now_ns() + takes_ns > front_.order.due_ns;
}

/// Nodes of stopped runs are passed over, which takes no time.
int ReadyQueue::width_of_first() const noexcept {
  const Run& run = *front_.run;
  if (!front_.has_wide_nodes || run.stopped()) return 1;
  return node_at(run, first_.first()).width;
}

ReadyQueue::Place ReadyQueue::take_first() noexcept {
  add_size(UINT32_MAX);  // one less
  return {front_.run, first_.pop_first()};
}

/// What goes first, after the last node of the front was taken.
void ReadyQueue::next_front() {
  if (!runs_.empty()) {
    const Entry last = front_;
    refill_front();
    // Spinners read what is shown: its line is left alone where nothing changes.
    if (front_.run != last.run || last.has_wide_nodes) show();
  } else {
    show_nothing();
  }
}

void ReadyQueue::show_nothing() {
  shown_seats_.store(1, std::memory_order_relaxed);      // relaxed: as the next
  shown_run_.store(nullptr, std::memory_order_relaxed);  // relaxed: a late view looks in vain
}

/// The first node behind a wide one, for which the free seats and those in hand are too few, that
/// will not delay it.
std::optional<ReadyQueue::Candidate> ReadyQueue::behind_wide(int seats_in_hand,
                                                             const Run* helps) const {
  const int free = seats_->table.available() + seats_in_hand, width = width_of_first();
  if (free == 0 || width <= free) return std::nullopt;
  const std::int64_t now = now_ns();
  const std::int64_t until_ns =
      seats_->forecast.free_ns(width - free, seats_->table.count() - free, now);
  int looks = backfill_looks;
  const auto find = [&](const Run& run, std::uint64_t bits, std::uint32_t index) {
    for (ReadySet::Word word{index, bits}; word.bits != 0 && looks > 0; --looks) {
      const std::uint32_t position = word.pop_first();
      const PlanNode& node = node_at(run, position);
      const bool is_short = node.width == 1 && node.service_ns > 0 &&
                            node.service_ns <= until_ns - now && may_take(helps, run, node);
      if (is_short || run.stopped()) return static_cast<std::int64_t>(position);
    }
    return std::int64_t{-1};
  };
  if (const std::int64_t found = find(*front_.run, first_.bits & (first_.bits - 1), first_.index);
      found >= 0)
    return Candidate{runs_.size(), static_cast<std::uint32_t>(found)};
  std::optional<Candidate> best;
  for (std::size_t place = 0; place < runs_.size() && looks > 0; ++place) {
    const Entry& entry = runs_[place];
    if (best && runs_[best->place].order < entry.order) continue;
    const ReadySet::Word word = entry.run->ready(executor_).first_word();
    if (const std::int64_t found = find(*entry.run, word.bits, word.index); found >= 0)
      best = Candidate{place, static_cast<std::uint32_t>(found)};
  }
  return best;
}

ReadyQueue::Place ReadyQueue::take_from_behind(const Candidate& candidate) {
  add_size(UINT32_MAX);  // one less
  const bool is_front = candidate.place == runs_.size();
  Run& run = is_front ? *front_.run : *runs_[candidate.place].run;
  const Place place{&run, candidate.position};
  if (is_front) {
    first_.bits &= ~ReadySet::Word::bit(candidate.position);
    return place;
  }
  ReadySet& ready = run.ready(executor_);
  ready.erase_from_first_word(candidate.position);
  if (ready.empty()) {
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(candidate.place));
    std::make_heap(runs_.begin(), runs_.end());
  }
  return place;
}

/// Whether the heap holds nodes that go before the front.
bool ReadyQueue::is_overtaken() const noexcept {
  if (runs_.empty()) return false;
  const Entry& next = runs_.front();
  if (next.run != front_.run) return next.order < front_.order;
  return next.run->ready(executor_).first_index() < first_.index;
}

void ReadyQueue::put_back_front() {
  ReadySet& ready = front_.run->ready(executor_);
  const bool entered = !ready.empty();
  ready.insert(first_);
  if (!entered) enter(front_);
}

void ReadyQueue::refill_front() noexcept {
  front_ = runs_.front();
  ReadySet& ready = front_.run->ready(executor_);
  first_ = ready.pop_word();
  if (!ready.empty()) return;
  std::pop_heap(runs_.begin(), runs_.end());
  runs_.pop_back();
}

void ReadyQueue::enter(const Entry& entry) {
  runs_.push_back(entry);
  std::push_heap(runs_.begin(), runs_.end());
}

/// Tells threads without a seat what there is.
void ReadyQueue::show() {
  if (first_.bits == 0) return;  // shown when it was emptied
  const int width = width_of_first();
  const int needed = width > 1 && behind_wide(0, nullptr) ? 1 : width;
  // relaxed loads: written under the lock; seq_cst stores: before we look for waiters
  if (shown_seats_.load(std::memory_order_relaxed) != needed)
    shown_seats_.store(needed, std::memory_order_seq_cst);
  if (shown_run_.load(std::memory_order_relaxed) != front_.run)
    shown_run_.store(front_.run, std::memory_order_seq_cst);
}

}  // namespace engine
