#include "devices/cpu/loan.hpp"

#include "devices/cpu/thread_weight.hpp"

namespace engine {

void Loan::begin(const RunOrder& order, std::int64_t end_ns, pid_t thread) noexcept {
  // relaxed, all: see the members
  rank_.store(order.rank, std::memory_order_relaxed);
  due_ns_.store(order.due_ns, std::memory_order_relaxed);
  end_ns_.store(end_ns, std::memory_order_relaxed);
  thread_.store(thread, std::memory_order_relaxed);
  cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  const std::uint64_t last = word_.load(std::memory_order_relaxed);  // relaxed: ours while between
  // release: what we said, to who lends
  word_.store(as(last + stands, computing), std::memory_order_release);
}

bool Loan::try_end() noexcept {
  for (;;) {
    const std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
    if (stand(word) == lent) return false;
    if (stand(word) == changing)
      sched_yield();
    else if (change(word, as(word, between)))
      return true;
  }
}

bool Loan::leave() noexcept {
  for (;;) {
    const std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
    if (stand(word) == changing)
      sched_yield();
    else if (change(word, as(word, between)))
      return stand(word) == lent;
  }
}

std::optional<Loan::Offer> Loan::offer() const noexcept {
  Offer offer;
  offer.word = word_.load(std::memory_order_acquire);  // acquire: what the holder said
  if (stand(offer.word) != computing) return std::nullopt;
  // relaxed, all: lend() fails if they are of another computation
  offer.order.rank = rank_.load(std::memory_order_relaxed);
  offer.order.due_ns = due_ns_.load(std::memory_order_relaxed);
  offer.end_ns = end_ns_.load(std::memory_order_relaxed);
  return offer;
}

bool Loan::lend(const Offer& offer) noexcept {
  if (!change(offer.word, as(offer.word, changing))) return false;
  const pid_t thread = thread_.load(std::memory_order_relaxed);  // relaxed: as in offer()
  if (thread != 0) {
    lower_weight(thread);
    lowered_.store(true, std::memory_order_relaxed);  // relaxed: ordered by the word
  }
  word_.store(as(offer.word, lent), std::memory_order_release);  // release: see change()
  return true;
}

bool Loan::give_back(int nice) noexcept {
  const std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
  if (stand(word) != lent || !change(word, as(word, changing))) return false;
  const pid_t thread = thread_.load(std::memory_order_relaxed);  // relaxed: as in offer()
  if (thread != 0 && restore_weight(thread, nice))
    lowered_.store(false, std::memory_order_relaxed);           // relaxed: ordered by the word
  word_.store(as(word, computing), std::memory_order_release);  // release: see change()
  return true;
}

}  // namespace engine
