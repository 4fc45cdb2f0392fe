#include "devices/cpu/loan.hpp"

#include <sched.h>

namespace engine {

void Loan::begin(const RunOrder& order, std::int64_t end_ns) noexcept {
  // relaxed, all: see the members
  rank_.store(order.rank, std::memory_order_relaxed);
  due_ns_.store(order.due_ns, std::memory_order_relaxed);
  end_ns_.store(end_ns, std::memory_order_relaxed);
  cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  const std::uint64_t last = word_.load(std::memory_order_relaxed);  // relaxed: ours while between
  // release: what we said, to who lends
  word_.store(as(last + stands, computing), std::memory_order_release);
}

bool Loan::try_end() noexcept {
  std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
  while (stand(word) != lent)
    if (change(word, as(word, between))) return true;
  return false;
}

bool Loan::leave() noexcept {
  std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
  while (!change(word, as(word, between))) {
  }
  return stand(word) == lent;
}

std::optional<Loan::Offer> Loan::offer() const noexcept {
  Offer offer;
  offer.word = word_.load(std::memory_order_acquire);  // acquire: what the holder said
  if (stand(offer.word) != computing && stand(offer.word) != returned) return std::nullopt;
  // relaxed, all: lend() fails if they are of another computation
  offer.order.rank = rank_.load(std::memory_order_relaxed);
  offer.order.due_ns = due_ns_.load(std::memory_order_relaxed);
  offer.end_ns = end_ns_.load(std::memory_order_relaxed);
  return offer;
}

bool Loan::lend(const Offer& offer) noexcept {
  std::uint64_t word = offer.word;
  return change(word, as(word, lent));
}

bool Loan::give_back() noexcept {
  std::uint64_t word = word_.load(std::memory_order_acquire);  // acquire: see change()
  return stand(word) == lent && change(word, as(word, returned));
}

}  // namespace engine
