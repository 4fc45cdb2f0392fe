// The seats of a CPU device: who holds one may run nodes.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace engine {

/// A count of free seats and a gate that holds newcomers back while a wide node collects seats.
/// Thread-safe, lock-free. Changes and tests of the count are seq_cst, since threads park on
/// them (parker.hpp).
class SeatTable {
 public:
  explicit SeatTable(int seats)
      : words_(static_cast<std::size_t>(seats + 63) / 64),
        free_ids_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)),
        state_(static_cast<std::uint32_t>(seats)) {
    // relaxed: no other thread knows the table yet
    for (int id = 0; id < seats; ++id)
      free_ids_[static_cast<std::size_t>(id / 64)].fetch_or(std::uint64_t{1} << (id % 64),
                                                            std::memory_order_relaxed);
  }

  /// Seats that a newcomer could take now; 0 behind a closed gate.
  [[nodiscard]] int available() const noexcept {
    const std::uint32_t state = state_.load(std::memory_order_seq_cst);  // seq_cst: see above
    return (state & gate_bit) != 0 ? 0 : static_cast<int>(state);
  }
  [[nodiscard]] bool gate_closed() const noexcept {
    return (state_.load(std::memory_order_relaxed) & gate_bit) != 0;  // relaxed: tested per node
  }
  /// Takes `seats` at once, or none.
  [[nodiscard]] bool try_take(int seats) noexcept {
    const auto wanted = static_cast<std::uint32_t>(seats);
    std::uint32_t state = state_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
    while ((state & gate_bit) == 0 && state >= wanted)
      // acquire: what the seats' last holders wrote to them
      if (state_.compare_exchange_weak(state, state - wanted, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        return true;
    return false;
  }
  /// For the thread that closed the gate: takes up to `seats`, returns how many.
  [[nodiscard]] int take_behind_gate(int seats) noexcept {
    std::uint32_t state = state_.load(std::memory_order_seq_cst);  // seq_cst: tested before parking
    for (;;) {
      const std::uint32_t free = state & ~gate_bit;
      const std::uint32_t taken =
          free < static_cast<std::uint32_t>(seats) ? free : static_cast<std::uint32_t>(seats);
      if (taken == 0) return 0;
      // acquire: as in try_take
      if (state_.compare_exchange_weak(state, state - taken, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        return static_cast<int>(taken);
    }
  }
  /// Returns whether the gate is closed: its holder wants to know.
  [[nodiscard]] bool give_back(int seats) noexcept {
    // seq_cst: the seats are free before we look for work left and threads parked
    return (state_.fetch_add(static_cast<std::uint32_t>(seats), std::memory_order_seq_cst) &
            gate_bit) != 0;
  }
  /// False if another thread holds it.
  [[nodiscard]] bool try_close_gate() noexcept {
    // seq_cst: later give_backs see it
    return (state_.fetch_or(gate_bit, std::memory_order_seq_cst) & gate_bit) == 0;
  }
  void open_gate() noexcept {
    state_.fetch_and(~gate_bit, std::memory_order_seq_cst);  // seq_cst: as in give_back()
  }

  /// A number for the holder of a seat, unique among holders.
  [[nodiscard]] int take_id() noexcept {
    for (std::size_t word = 0;; word = (word + 1) % words_) {
      std::uint64_t free = free_ids_[word].load(std::memory_order_relaxed);  // relaxed: CAS below
      while (free != 0)
        // acquire: the lane's data as its last holder left it
        if (free_ids_[word].compare_exchange_weak(
                free, free & (free - 1), std::memory_order_acquire, std::memory_order_relaxed))
          return static_cast<int>(word) * 64 + std::countr_zero(free);
    }
  }
  void give_back_id(int id) noexcept {
    // release: hands the lane's data to its next holder
    free_ids_[static_cast<std::size_t>(id / 64)].fetch_or(std::uint64_t{1} << (id % 64),
                                                          std::memory_order_release);
  }

 private:
  static constexpr std::uint32_t gate_bit = 1U << 31;

  const std::size_t words_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> free_ids_;
  alignas(64) std::atomic<std::uint32_t> state_;
};

}  // namespace engine
