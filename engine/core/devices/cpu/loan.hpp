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
  /// It ends later than was said.
  void expect(std::int64_t end_ns) noexcept {
    end_ns_.store(end_ns, std::memory_order_relaxed);  // relaxed: see the members
  }
  /// The computation is over. False while the place is lent: what the holder has left to do it may
  /// do, then it calls leave().
  [[nodiscard]] bool try_end() noexcept;
  /// Before that: whether it shared its core with a borrower, or does.
  [[nodiscard]] bool was_lent() const noexcept {
    const Stand now = stand(word_.load(std::memory_order_relaxed));  // relaxed: no data goes along
    return now == lent || now == returned;
  }
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
  enum Stand : std::uint64_t { between, computing, lent, returned };  ///< computes as before
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
  // Written by the holder before it begins; read by lenders, who then find the word unchanged. The
  // end may change meanwhile: it is a prediction.
  std::atomic<std::int64_t> rank_{0}, due_ns_{0}, end_ns_{0};
  std::atomic<int> cpu_{-1};
};

/// Which of several computations is lent: the one that goes last, and after `first`, of those that
/// do not end within `least_ns`. None if `first` can afford to wait for one of these: for a part of
/// the time that it has left; what comes late anyway waits for all but lower priorities.
class LeastUrgent {
 public:
  LeastUrgent(const RunOrder& first, std::int64_t now_ns, std::int64_t least_ns) noexcept
      : first_(first), now_ns_(now_ns), least_ns_(least_ns) {}

  /// Whether this one is, of all so far.
  [[nodiscard]] bool is_it(Loan::Offer offer) noexcept {
    const std::int64_t wait_ns = offer.end_ns - now_ns_;
    if (wait_ns < least_ns_) return false;
    waits_ = waits_ || can_afford(offer.order, wait_ns);
    if (offer.order.may_be_late() && now_ns_ > offer.order.due_ns) offer.order = offer.order.late();
    if (!first_.preempts(offer.order) || (found_ && offer.order < offer_.order)) return false;
    offer_ = offer;
    return found_ = true;
  }
  /// So long may wait what has `left_ns` until it is due.
  [[nodiscard]] static constexpr std::int64_t affordable_ns(std::int64_t left_ns) noexcept {
    return left_ns / affordable_parts;
  }
  /// Whether nothing is to be lent, since one of them ends soon enough.
  [[nodiscard]] bool waits() const noexcept { return waits_; }
  /// The last that was.
  [[nodiscard]] const Loan::Offer& offer() const noexcept { return offer_; }

 private:
  static constexpr std::int64_t affordable_parts = 4;

  [[nodiscard]] bool can_afford(const RunOrder& other, std::int64_t wait_ns) const noexcept {
    if (!first_.is_due()) return false;
    if (now_ns_ >= first_.due_ns) return first_.is_of_class(other);
    return wait_ns < affordable_ns(first_.due_ns - now_ns_);
  }

  const RunOrder first_;
  const std::int64_t now_ns_, least_ns_;
  Loan::Offer offer_;
  bool found_ = false, waits_ = false;
};

}  // namespace engine
