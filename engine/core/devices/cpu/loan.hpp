// A lane whose place a more urgent run takes while the lane computes.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "scheduler/run_order.hpp"

namespace engine {

/// Of one lane. Its holder says what it computes (begin, end); a thread that finds something more
/// urgent waiting may lend the place to another one, the borrower, which gives it back when
/// nothing more urgent is left. Meanwhile the system divides a core between both; if the holder
/// ends first, the borrower has the lane.
///
/// One word decides every race: a number of the computation, and how it stands.
///
/// Thread-safe, lock-free.
class Loan {
 public:
  /// What could be lent: a computation, and how urgent it is.
  struct Offer {
    std::uint64_t word = 0;
    RunOrder order;
    std::int64_t end_ns = 0;
  };

  // --- its holder ---
  /// `end_ns` is predicted.
  void begin(const RunOrder& order, std::int64_t end_ns) noexcept;
  /// The computation is over. False while the place is lent: what the holder has left to do it may
  /// do, then it calls leave().
  [[nodiscard]] bool try_end() noexcept;
  /// True: the lane is the borrower's. False: it has given it back meanwhile.
  [[nodiscard]] bool leave() noexcept;

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
  /// False: its holder has left, the lane is the borrower's.
  [[nodiscard]] bool give_back() noexcept;

 private:
  enum Stand : std::uint64_t { between, computing, lent };
  static constexpr std::uint64_t stands = 4;

  [[nodiscard]] static Stand stand(std::uint64_t word) noexcept {
    return static_cast<Stand>(word % stands);
  }
  [[nodiscard]] static std::uint64_t as(std::uint64_t word, Stand stand) noexcept {
    return word / stands * stands + stand;
  }
  [[nodiscard]] bool change(std::uint64_t& from, std::uint64_t to) noexcept {
    // acq_rel, acquire: what its last owner wrote, who may have left, and ours to the next
    return word_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }

  std::atomic<std::uint64_t> word_{between};
  // Written by the holder before it begins; read by lenders, who then find the word unchanged.
  std::atomic<std::int64_t> rank_{0}, due_ns_{0}, end_ns_{0};
  std::atomic<int> cpu_{-1};
};

}  // namespace engine
