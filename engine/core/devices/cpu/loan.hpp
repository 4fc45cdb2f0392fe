// A lane whose place a more urgent run takes while the lane computes.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "scheduler/run_order.hpp"

namespace engine {

/// Of one lane. Its holder says what it computes (begin, end); a thread that finds something more
/// urgent waiting may lend the place to another one, the borrower, which gives it back when
/// nothing more urgent is left. Meanwhile the holder goes on at the lowest weight, where the system
/// finds time for it; if it ends first, the borrower has the lane.
///
/// One word decides every race: a number of the computation, and how it stands. While it is
/// `changing`, a weight is being set, for microseconds, and a holder that ends waits for that, so
/// that no thread keeps a weight that was meant for its last computation.
///
/// Thread-safe, lock-free but for that.
class Loan {
 public:
  /// What could be lent: a computation, and how urgent it is.
  struct Offer {
    std::uint64_t word = 0;
    RunOrder order;
    std::int64_t end_ns = 0;
  };

  // --- its holder ---
  /// `thread` 0: its weight is not ours to change. `end_ns` is predicted.
  void begin(const RunOrder& order, std::int64_t end_ns, pid_t thread) noexcept;
  /// The computation is over. False while the place is lent: what the holder has left to do it may
  /// do, then it calls leave().
  [[nodiscard]] bool try_end() noexcept;
  /// True: the lane is the borrower's. False: it has given it back meanwhile.
  [[nodiscard]] bool leave() noexcept;
  /// Whether the holder's thread has the lowest weight. Once it has ended or left.
  [[nodiscard]] bool is_lowered() const noexcept {
    return lowered_.load(std::memory_order_relaxed);  // relaxed: ordered by the word
  }
  /// Its thread has its weight again, or is gone.
  void forget_lowered() noexcept {
    lowered_.store(false, std::memory_order_relaxed);  // relaxed: as above
  }

  // --- who lends, one at a time ---
  /// What may be lent now, if anything.
  [[nodiscard]] std::optional<Offer> offer() const noexcept;
  /// False: it has ended, or is another one by now.
  [[nodiscard]] bool lend(const Offer& offer) noexcept;

  // --- the borrower ---
  /// Where the holder computed when it was lent.
  [[nodiscard]] int cpu() const noexcept {
    return cpu_.load(std::memory_order_relaxed);  // relaxed: advice
  }
  /// False: its holder has left, the lane is the borrower's. `nice` is the holder's weight.
  [[nodiscard]] bool give_back(int nice) noexcept;

 private:
  enum Stand : std::uint64_t { between, computing, changing, lent };
  static constexpr std::uint64_t stands = 4;

  [[nodiscard]] static Stand stand(std::uint64_t word) noexcept {
    return static_cast<Stand>(word % stands);
  }
  [[nodiscard]] static std::uint64_t as(std::uint64_t word, Stand stand) noexcept {
    return word / stands * stands + stand;
  }
  [[nodiscard]] bool change(std::uint64_t from, std::uint64_t to) noexcept {
    // acq_rel, acquire: what its last owner wrote, who may have left, and ours to the next
    return word_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

  std::atomic<std::uint64_t> word_{between};
  // Written by the holder before it begins; read by lenders, who then find the word unchanged.
  std::atomic<std::int64_t> rank_{0}, due_ns_{0}, end_ns_{0};
  std::atomic<pid_t> thread_{0};
  std::atomic<int> cpu_{-1};
  std::atomic<bool> lowered_{false};
};

}  // namespace engine
