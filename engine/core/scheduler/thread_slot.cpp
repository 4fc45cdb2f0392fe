#include "scheduler/thread_slot.hpp"

#include <array>
#include <atomic>
#include <bit>

namespace engine::detail {

namespace {

std::array<std::atomic<std::uint64_t>, thread_slots / 64> taken{};

std::uint32_t take() noexcept {
  for (std::uint32_t word = 0; word < taken.size(); ++word) {
    // relaxed: the exchange below decides
    for (std::uint64_t bits = taken[word].load(std::memory_order_relaxed); ~bits != 0;) {
      const auto place = static_cast<std::uint32_t>(std::countr_one(bits));
      // acquire: what the slot's last thread wrote
      if (taken[word].compare_exchange_weak(bits, bits | std::uint64_t{1} << place,
                                            std::memory_order_acquire, std::memory_order_relaxed))
        return 64 * word + place;
    }
  }
  return thread_slots;
}

void give_back(std::uint32_t slot) noexcept {
  if (slot == thread_slots) return;
  // release: to the slot's next thread
  taken[slot / 64].fetch_and(~(std::uint64_t{1} << slot % 64), std::memory_order_release);
}

}  // namespace

constinit thread_local std::uint32_t own_slot = slot_unset;

std::uint32_t take_thread_slot() noexcept {
  struct Holder {
    Holder() noexcept { own_slot = take(); }
    ~Holder() {
      const std::uint32_t slot = own_slot;
      own_slot = thread_slots;  // what still ends on this thread shares a counter
      give_back(slot);
    }
  };
  thread_local const Holder holder;
  return own_slot;
}

}  // namespace engine::detail
