// The seats of a CPU device: who holds one may run nodes.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace engine {

/// A count of free seats. Thread-safe, lock-free. Changes and tests of the count are seq_cst, since
/// threads park on them (parker.hpp).
class SeatTable {
 public:
  explicit SeatTable(int seats)
      : seats_(seats),
        words_(static_cast<std::size_t>(seats + 63) / 64),
        free_ids_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)),
        free_(seats) {
    // relaxed: no other thread knows the table yet
    for (int id = 0; id < seats; ++id)
      free_ids_[static_cast<std::size_t>(id / 64)].fetch_or(std::uint64_t{1} << (id % 64),
                                                            std::memory_order_relaxed);
  }

  [[nodiscard]] int count() const noexcept { return seats_; }
  /// Seats that a newcomer could take now.
  [[nodiscard]] int available() const noexcept {
    return free_.load(std::memory_order_seq_cst);  // seq_cst: see above
  }
  /// Takes `seats` at once, or none.
  [[nodiscard]] bool try_take(int seats) noexcept {
    int free = free_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
    while (free >= seats)
      // acquire: what the seats' last holders wrote to them
      if (free_.compare_exchange_weak(free, free - seats, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }
  void give_back(int seats) noexcept {
    // seq_cst: the seats are free before we look for work left and threads parked
    free_.fetch_add(seats, std::memory_order_seq_cst);
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
  const int seats_;
  const std::size_t words_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> free_ids_;
  alignas(64) std::atomic<int> free_;
};

}  // namespace engine
