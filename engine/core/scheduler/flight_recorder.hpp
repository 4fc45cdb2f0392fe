// What lanes ran and how runs ended lately, to say afterwards why one was late.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/clock.hpp"
#include "scheduler/flight_ring.hpp"
#include "scheduler/flown_plan.hpp"

namespace engine {

/// A node that a lane ran: arrival of its run, number of its plan, node, lane, start, end. Or that
/// it waited for another process before a node of that run: -1 less the process's number, instead
/// of the node.
class NodeRing : public FlightRing<6> {
 public:
  using FlightRing<6>::FlightRing;

  void write_node(const Record& node) noexcept {
    write(node);
    // relaxed: a statistic; rings of several lanes have several writers
    busy_ns_.fetch_add(node[5] - node[4], std::memory_order_relaxed);
  }
  /// How long its nodes took, all that ever were.
  [[nodiscard]] std::int64_t busy_ns() const noexcept {
    return busy_ns_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

 private:
  std::atomic<std::int64_t> busy_ns_{0};
};

/// Whose ring it is: of a lane, of a place that was lent to what is more urgent, or of a lane of
/// what is best effort.
enum class RingKind : std::uint8_t { lane, borrowed, best_effort };

/// Records of one machine, which runs begin to write only while somebody wants them: a plan whose
/// runs are due, or who asked for a time. Thread-safe. A run that is recorded costs its nodes two
/// reads of the clock and a record each; one that is not, a test when it begins.
class FlightRecorder {
 public:
  /// Of a lane: seconds of it where nodes take a millisecond; 230 kB.
  static constexpr std::size_t lane_records = 4096;
  static constexpr std::size_t borrowed_records = 512;
  /// For how long a run that says when it is due has what follows recorded.
  static constexpr std::int64_t after_due_ns = 60'000'000'000;

  struct Ring {
    std::uint32_t executor;
    RingKind kind;
    int lane;  ///< -1: of all lanes
    NodeRing records;
  };

  /// Whether runs that begin now are recorded.
  [[nodiscard]] bool is_on() noexcept {
    // relaxed, both: a run more or less
    if (holders_.load(std::memory_order_relaxed) != 0) return true;
    const std::int64_t until_ns = until_ns_.load(std::memory_order_relaxed);
    return until_ns != 0 && is_before(until_ns);
  }
  /// Since when it has been on without a break; 0: it is off.
  [[nodiscard]] std::int64_t on_since_ns() noexcept;
  /// Has it on until then, on the monotonic clock, and longer if that was said before.
  void ask_until(std::int64_t until_ns) noexcept;
  /// A run that begins is due.
  void note_due(std::int64_t begun_ns) noexcept {
    // relaxed, both: as is_on()
    if (holders_.load(std::memory_order_relaxed) != 0) return;
    if (begun_ns == 0 || until_ns_.load(std::memory_order_relaxed) < begun_ns + after_due_ns / 2)
      ask_until(now_ns() + after_due_ns);
  }
  /// By a plan, while its runs are due.
  void hold() noexcept;
  void let_go() noexcept;

  /// A ring of a lane; stays as long as the recorder does.
  [[nodiscard]] NodeRing& add_ring(std::uint32_t executor, RingKind kind, int lane);
  /// Of all lanes of an executor whose lanes have none of their own.
  [[nodiscard]] NodeRing& ring_of(std::uint32_t executor) const { return *own_[executor]; }
  /// For the next executor.
  void add_executor();
  /// Calls `look(ring)` for each.
  template <typename Look>
  void each_ring(Look&& look) const {
    const std::lock_guard lock(rings_mutex_);
    for (const auto& ring : rings_) look(*ring);
  }

  /// A number of another process, by what people know it by; 0 where there were too many.
  [[nodiscard]] std::int64_t number_of(const std::string& process);
  /// By number.
  [[nodiscard]] std::vector<std::string> processes() const;

  /// A plan goes. The last ones are remembered: models change theirs.
  void bury(GonePlan plan);
  /// The oldest first.
  [[nodiscard]] std::vector<GonePlan> gone() const;

 private:
  [[nodiscard]] bool is_before(std::int64_t until_ns) noexcept;

  std::atomic<int> holders_{0};
  std::atomic<std::int64_t> until_ns_{0};     ///< for who asked; 0: nobody does
  std::atomic<std::int64_t> on_since_ns_{0};  ///< when it was last switched on
  mutable std::mutex rings_mutex_;            // guards rings_
  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<NodeRing*> own_;          ///< by executor; before its threads start
  mutable std::mutex processes_mutex_;  // guards processes_
  std::vector<std::string> processes_{"others"};
  mutable std::mutex gone_mutex_;  // guards gone_
  std::deque<GonePlan> gone_;
};

}  // namespace engine
