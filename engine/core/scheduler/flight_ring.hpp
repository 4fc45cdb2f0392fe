// The last so many records of something, which may be read while they are written.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace engine {

/// Records of `words` numbers each; the newest take the place of the oldest. Thread-safe,
/// lock-free: who writes never waits, but drops a record whose place another thread has kept for a
/// whole turn of the ring. About 15 ns a record. Memory comes with the first one.
template <std::size_t words>
class alignas(64) FlightRing {
 public:
  using Record = std::array<std::int64_t, words>;

  explicit FlightRing(std::size_t capacity) : capacity_(capacity) {}
  FlightRing(const FlightRing&) = delete;
  FlightRing& operator=(const FlightRing&) = delete;
  ~FlightRing() { delete[] slots_.load(std::memory_order_relaxed); }  // relaxed: nobody else here

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Records so far, those that others have taken the place of included.
  [[nodiscard]] std::uint64_t written() const noexcept {
    return next_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

  void write(const Record& record) noexcept {
    Slot* const slots = opened();
    if (slots == nullptr) return;
    const std::uint64_t number =
        next_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number
    Slot& slot = slots[number % capacity_];
    std::uint64_t before = slot.stamp.load(std::memory_order_relaxed);  // relaxed: the CAS confirms
    if (before % 2 != 0 || before > stamp_of(number)) return;
    // acquire: our words come behind the last writer's
    if (!slot.stamp.compare_exchange_strong(before, stamp_of(number) - 1, std::memory_order_acquire,
                                            std::memory_order_relaxed))
      return;
    for (std::size_t i = 0; i < words; ++i)
      // release: who reads it finds the stamp changed
      slot.numbers[i].store(record[i], std::memory_order_release);
    slot.stamp.store(stamp_of(number), std::memory_order_release);  // release: the words
  }

  /// Calls `take(record)` for each that is there, the oldest first.
  template <typename Take>
  void read(Take&& take) const {
    const Slot* const slots = slots_.load(std::memory_order_acquire);  // acquire: see opened()
    if (slots == nullptr) return;
    const std::uint64_t end = written();
    Record record;
    for (std::uint64_t number = end - std::min<std::uint64_t>(end, capacity_); number < end;
         ++number)
      if (read_one(slots[number % capacity_], number, record)) take(record);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> stamp{0};  ///< of the record that it holds; odd: being written
    std::array<std::atomic<std::int64_t>, words> numbers{};
  };

  [[nodiscard]] static std::uint64_t stamp_of(std::uint64_t number) noexcept {
    return 2 * (number + 1);
  }
  [[nodiscard]] static bool read_one(const Slot& slot, std::uint64_t number,
                                     Record& record) noexcept {
    // acquire: the words that belong to it
    if (slot.stamp.load(std::memory_order_acquire) != stamp_of(number)) return false;
    for (std::size_t i = 0; i < words; ++i)
      record[i] = slot.numbers[i].load(std::memory_order_acquire);  // acquire: see write()
    // relaxed: ordered by the words, of which none is newer if this is not
    return slot.stamp.load(std::memory_order_relaxed) == stamp_of(number);
  }
  [[nodiscard]] Slot* opened() noexcept {
    Slot* slots = slots_.load(std::memory_order_acquire);  // acquire: its slots are made
    if (slots != nullptr) return slots;
    std::unique_ptr<Slot[]> made(new (std::nothrow) Slot[capacity_]);
    // acq_rel, acquire: ours to others, or theirs to us
    if (slots_.compare_exchange_strong(slots, made.get(), std::memory_order_acq_rel,
                                       std::memory_order_acquire))
      return made.release();
    return slots;
  }

  const std::size_t capacity_;
  std::atomic<Slot*> slots_{nullptr};
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace engine
