#include "scheduler/waiting_room.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "devices/device.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/machine.hpp"
#include "scheduler/plan.hpp"
#include "scheduler/room_clock.hpp"
#include "scheduler/run.hpp"
#include "scheduler/stacking.hpp"

namespace engine {

namespace {

/// Of the time that a query has to spare, the part that it may wait for others: what comes between
/// then and its answer is not known, and takes some of the rest.
constexpr std::int64_t spare_parts = 4;
/// The protocol's level of a query that is as urgent as usual (engine/serving/model_executor.py).
constexpr int usual_priority_level = 5;

constexpr const char* full_text = "Exceeds maximum queue size";  // Triton's words, as the next
constexpr const char* expired_text = "Request timeout expired";

/// Numbers of calls are above those of plans (Plan::family).
std::uint32_t call_number() noexcept {
  static std::atomic<std::uint32_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed) | Run::first_call;  // relaxed: a number
}

}  // namespace

std::shared_ptr<WaitingRoom> WaitingRoom::create(QueueRules rules) {
  if (rules.levels.empty() || rules.levels.size() > most_levels)
    throw std::invalid_argument("there are 1 to " + std::to_string(most_levels) + " levels, got " +
                                std::to_string(rules.levels.size()));
  if (rules.usual_level < 1 || rules.usual_level > rules.levels.size())
    throw std::invalid_argument("the usual level must be 1 to " +
                                std::to_string(rules.levels.size()) + ", got " +
                                std::to_string(rules.usual_level));
  const auto is_wrong = [](const LevelRules& level) { return level.timeout_ns < 0; };
  if (rules.delay_ns < 0 || std::ranges::any_of(rules.levels, is_wrong))
    throw std::invalid_argument("times to wait must be >= 0");
  std::ranges::sort(rules.preferred_rows);
  std::shared_ptr<WaitingRoom> room(new WaitingRoom(std::move(rules)));
  RoomClock::get().add(room);
  return room;
}

/// As the protocol counts them; what is above the last is usual, as with Triton.
std::size_t WaitingRoom::level_of(const std::optional<int>& priority) const noexcept {
  if (!priority) return rules_.usual_level - 1;
  const int level = usual_priority_level - *priority;
  const bool is_there = level >= 1 && level <= static_cast<int>(levels_.size());
  return is_there ? static_cast<std::size_t>(level) - 1 : rules_.usual_level - 1;
}

Waiting WaitingRoom::waiting_of(const Run& run, std::int64_t now_ns) const {
  Waiting found{.plan = &run.plan(), .hold_until_ns = now_ns};
  const Stacking* const stacking = run.plan().stacking();
  if (stacking == nullptr || stacking->has_failed()) return found;
  std::vector<const Value*> inputs;
  run.look_at_inputs(run.plan().node(0), inputs);
  const std::uint32_t rows = stacking->stacker().rows(inputs);
  const std::uint32_t most = most_rows(rules_, *stacking);
  if (rows < stacking->least_rows() || rows > most) return found;
  found.rows = rows;
  std::int64_t delay_ns = rules_.delay_ns;
  if (run.order().is_due()) {
    const std::int64_t spare_ns = run.order().due_ns - now_ns - stacking->takes_ns(most);
    delay_ns = std::clamp<std::int64_t>(spare_ns / spare_parts, 0, delay_ns);
  }
  found.hold_until_ns = now_ns + delay_ns;
  return found;
}

bool WaitingRoom::enter(Run& run) {
  const std::int64_t now = now_ns();
  const std::size_t place = level_of(run.asked_priority());
  const LevelRules& rules = rules_.levels[place];
  Waiting waiting = waiting_of(run, now);
  waiting.run = &run;
  if (rules.timeout_ns != 0 && rules.timeout_ns < never - now)
    waiting.expires_ns = now + rules.timeout_ns;
  run.wait_in(this);
  Due due;
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    Level& level = levels_[place];
    is_full = rules.most_waiting != 0 &&
              level.in_time.size() + level.delayed.size() >= rules.most_waiting;
    if (!is_full) {
      level.in_time.push_back(waiting);
      waiting_.fetch_add(1, std::memory_order_relaxed);  // relaxed: see waiting()
      let_out(now, due.batches);
      note_next(now);
    }
  }
  if (is_full) {
    run.turn_away(full_text);
    return false;
  }
  if (due.batches.size() == 1 && due.batches[0] == Batch{&run}) return true;
  carry_out(due);
  return false;
}

void WaitingRoom::leave(const Run& run) noexcept {
  Due due;
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(run.call());
    if (found == calls_.end() || --found->second.left != 0) return;
    calls_.erase(found);
    if (waiting() == 0) return;
    const std::int64_t now = now_ns();
    let_out(now, due.batches);
    note_next(now);
  }
  carry_out(due);
}

void WaitingRoom::kick() noexcept {
  if (waiting() != 0) look_by(0);
}

void WaitingRoom::look(std::int64_t now_ns) noexcept {
  // seq_cst: who was stopped from now on says so again
  look_at_ns_.store(never, std::memory_order_seq_cst);
  Due due;
  {
    const std::lock_guard lock(mutex_);
    sort_out(now_ns, due);
    let_out(now_ns, due.batches);
    note_next(now_ns);
  }
  carry_out(due);
}

/// Takes out who was stopped, or may not wait any longer.
void WaitingRoom::sort_out(std::int64_t now_ns, Due& due) {
  const auto has_ended = [&](const Waiting& one) {
    if (!one.run->should_skip()) return false;
    due.ended.push_back(one.run);
    return true;
  };
  std::size_t gone = 0;
  for (std::size_t place = 0; place < levels_.size(); ++place) {
    Level& level = levels_[place];
    const bool delays = rules_.levels[place].delays;
    gone += std::erase_if(level.delayed, has_ended);
    gone += std::erase_if(level.in_time, has_ended);
    for (Waiting& one : level.in_time)
      if (one.expires_ns <= now_ns && delays) {
        one.expires_ns = never;
        level.delayed.push_back(one);
        one.run = nullptr;
      } else if (one.expires_ns <= now_ns) {
        due.expired.push_back(std::exchange(one.run, nullptr));
        ++gone;
      }
    std::erase_if(level.in_time, [](const Waiting& one) { return one.run == nullptr; });
  }
  waiting_.fetch_sub(gone, std::memory_order_relaxed);  // relaxed: see waiting()
}

/// In the order in which they go, until `visit` says false.
template <typename Visit>
void WaitingRoom::visit(Visit&& visit) const {
  for (const Level& level : levels_) {
    for (const Waiting& one : level.in_time)
      if (!visit(one)) return;
    for (const Waiting& one : level.delayed)
      if (!visit(one)) return;
  }
}

const Waiting* WaitingRoom::first() const noexcept {
  const Waiting* found = nullptr;
  visit([&](const Waiting& one) {
    found = &one;
    return false;
  });
  return found;
}

Waiting WaitingRoom::take_first() noexcept {
  for (Level& level : levels_) {
    std::deque<Waiting>& queue = level.in_time.empty() ? level.delayed : level.in_time;
    if (queue.empty()) continue;
    const Waiting taken = queue.front();
    queue.pop_front();
    waiting_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: see waiting()
    return taken;
  }
  return {};
}

/// So many calls of the model may be at once, where one of `plan` is to be the next.
std::size_t WaitingRoom::most_calls(const Plan& plan) const noexcept {
  if (rules_.calls != 0) return rules_.calls;
  if (plan.node_count() == 0) return SIZE_MAX;
  return static_cast<std::size_t>(plan.machine().executor(plan.node(0).executor).lanes());
}

/// Of those that wait, one at least.
NextCall WaitingRoom::next_call() const {
  NextCall call(rules_, *first());
  visit([&](const Waiting& one) { return call.take(one); });
  return call;
}

void WaitingRoom::let_out(std::int64_t now_ns, std::vector<Batch>& batches) {
  for (const Waiting* next = first(); next != nullptr && calls_.size() < most_calls(*next->plan);
       next = first()) {
    const NextCall chosen = next_call();
    if (chosen.is_held(now_ns)) return;
    Batch& batch = batches.emplace_back();
    const std::uint32_t number = call_number();
    for (std::size_t i = 0; i < chosen.count(); ++i) {
      batch.push_back(take_first().run);
      batch.back()->be_of_call(number);
    }
    // The queue of the lanes knows the first one's place only.
    const auto first_of =
        std::ranges::min_element(batch, {}, [](Run* run) { return run->order(); });
    std::rotate(batch.begin(), first_of, first_of + 1);
    calls_.emplace(number, Call{batch.size(), now_ns + chosen.takes_ns()});
  }
}

/// When somebody's time comes next. Those that may be called wait for others.
void WaitingRoom::note_next(std::int64_t now_ns) noexcept {
  std::int64_t next = never;
  const Waiting* const leader = first();
  const bool holds = leader != nullptr && calls_.size() < most_calls(*leader->plan);
  visit([&](const Waiting& one) {
    next = std::min(next, one.expires_ns);
    if (holds) next = std::min(next, std::max(one.hold_until_ns, now_ns));
    if (one.run->deadline_ns() != 0) next = std::min(next, one.run->deadline_ns());
    return true;
  });
  if (next != never) look_by(next);
}

void WaitingRoom::look_by(std::int64_t at_ns) noexcept {
  std::int64_t before = look_at_ns_.load(std::memory_order_relaxed);  // relaxed: the CAS checks it
  do {
    if (before <= at_ns) return;
    // seq_cst: before we look until when the clock sleeps
  } while (!look_at_ns_.compare_exchange_weak(before, at_ns, std::memory_order_seq_cst));
  RoomClock::get().look_by(at_ns);
}

void WaitingRoom::carry_out(const Due& due) noexcept {
  for (Run* const run : due.ended) run->end_unshared();
  for (Run* const run : due.expired) run->turn_away(expired_text);
  for (const Batch& batch : due.batches) batch.front()->plan().machine().hand_over(batch);
}

}  // namespace engine
