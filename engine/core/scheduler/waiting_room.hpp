// Where queries of a model wait for others, for their turn, and for one of the model's calls.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "scheduler/lane_outlook.hpp"
#include "scheduler/next_call.hpp"
#include "scheduler/queue_rules.hpp"

namespace engine {

class Plan;
class Run;

/// In front of the lanes, for the plans of a model that was given rules. Runs enter when they have
/// begun; as many calls as may be are let out at once, the most urgent level first. One call is one
/// run, or a batch: runs of a plan whose queries are stacked (Stacking), which a lane then takes
/// together. A batch that is not full is held back for the delay that the rules allow, but for no
/// more than a part of the time that one of its runs has to spare; runs that are never stacked are
/// not held back.
///
/// Runs that are stopped, or have waited for too long, end where they wait: RoomClock looks.
///
/// Thread-safe; each call locks once, O(runs that wait) at most. It outlives its runs, since their
/// plan has it.
class WaitingRoom : public std::enable_shared_from_this<WaitingRoom> {
 public:
  static constexpr std::int64_t never = Waiting::never;
  /// Of the protocol's priorities, those that can be told apart.
  static constexpr std::size_t most_levels = 9;

  /// Throws std::invalid_argument for rules that cannot be meant.
  [[nodiscard]] static std::shared_ptr<WaitingRoom> create(QueueRules rules);

  /// Of a run that has begun and is not shared. True: it goes at once, by itself, and the caller
  /// hands it to the lanes; else the room does, or ends it.
  [[nodiscard]] bool enter(Run& run);
  /// A run that was let out has ended: its call may be over.
  void leave(const Run& run) noexcept;
  /// A run that may wait here was stopped. Takes no lock.
  void kick() noexcept;

  /// When the call of a run of `plan` that entered now would begin, and end, by what waits before
  /// it and is called, each for as long as it is expected to take; lanes that are busy otherwise do
  /// not count. Nobody is held back here: a delay costs no deadline, and ends where a batch is
  /// full. `priority` is what its caller has said. O(runs that wait), of which it makes a copy.
  [[nodiscard]] Outlook forecast(const Plan& plan, const std::optional<int>& priority,
                                 std::int64_t now_ns);

  /// When there is something to look at.
  [[nodiscard]] std::int64_t look_at_ns() const noexcept {
    return look_at_ns_.load(std::memory_order_seq_cst);  // seq_cst: see RoomClock
  }
  /// Ends whose time is over, and lets out what has waited for long enough.
  void look(std::int64_t now_ns) noexcept;

  [[nodiscard]] std::size_t waiting() const noexcept {
    return waiting_.load(std::memory_order_relaxed);  // relaxed: a number to look at
  }

 private:
  /// One that was let out.
  struct Call {
    std::size_t left = 0;      ///< of its runs
    std::int64_t ends_ns = 0;  ///< as is expected
  };
  struct Level {
    std::deque<Waiting> in_time, delayed;
  };
  using Batch = std::vector<Run*>;
  /// What is done without the lock.
  struct Due {
    std::vector<Batch> batches;
    std::vector<Run*> expired, ended;
  };

  explicit WaitingRoom(QueueRules rules)
      : rules_(std::move(rules)), levels_(rules_.levels.size()) {}

  [[nodiscard]] std::size_t level_of(const std::optional<int>& priority) const noexcept;
  [[nodiscard]] Waiting waiting_of(const Run& run, std::int64_t now_ns) const;
  [[nodiscard]] std::size_t most_calls(const Plan& plan) const noexcept;
  [[nodiscard]] const Waiting* first() const noexcept;
  [[nodiscard]] NextCall next_call() const;
  [[nodiscard]] std::vector<Waiting> ahead_of(std::size_t place) const;
  void let_out(std::int64_t now_ns, std::vector<Batch>& batches);
  [[nodiscard]] Waiting take_first() noexcept;
  void sort_out(std::int64_t now_ns, Due& due);
  void note_next(std::int64_t now_ns) noexcept;
  void look_by(std::int64_t at_ns) noexcept;
  template <typename Visit>
  void visit(Visit&& visit) const;
  static void carry_out(const Due& due) noexcept;

  const QueueRules rules_;
  std::mutex mutex_;
  std::vector<Level> levels_;                      // guarded by mutex_, as the next
  std::unordered_map<std::uint32_t, Call> calls_;  ///< that were let out, by number
  std::atomic<std::size_t> waiting_{0};
  std::atomic<std::int64_t> look_at_ns_{never};
};

}  // namespace engine
