// Durations counted by how long they are, to be added up over time, models and machines.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace engine::frontend {

/// Buckets whose upper bounds are 16, 24, 32, 48, 64, ... microseconds, two an octave up to 67 s,
/// and one for what is longer. A bound belongs to its bucket, as Prometheus has it.
///
/// One thread at a time adds, any reads: no locked operation, a few nanoseconds.
class Histogram {
 public:
  static constexpr int first_octave = 4, octaves = 22;
  static constexpr std::size_t bounds = 1 + 2 * octaves, buckets = bounds + 1;
  using Counts = std::array<std::uint64_t, buckets>;

  [[nodiscard]] static constexpr std::int64_t bound_us(std::size_t bucket) noexcept {
    if (bucket == 0) return std::int64_t{1} << first_octave;
    const auto octave = first_octave + static_cast<int>((bucket - 1) / 2);
    return bucket % 2 == 1 ? std::int64_t{3} << (octave - 1) : std::int64_t{2} << octave;
  }
  [[nodiscard]] static constexpr std::size_t bucket_of(std::int64_t duration_ns) noexcept {
    constexpr std::uint64_t first_us = 1U << first_octave;
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration_ns) + 999) / 1000;
    if (us <= first_us) return 0;
    const std::uint64_t below = us - 1;  // so that a bound counts as what is just below it
    const int octave = std::bit_width(below) - 1;
    const auto upper_half = static_cast<std::size_t>(below >> (octave - 1) & 1);
    return std::min(buckets - 1,
                    1 + 2 * static_cast<std::size_t>(octave - first_octave) + upper_half);
  }

  void add(std::int64_t duration_ns) noexcept {
    // relaxed, all: one thread writes, each is a number by itself, read for people to see
    std::atomic<std::uint64_t>& count = counts_[bucket_of(duration_ns)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    total_ns_.store(total_ns_.load(std::memory_order_relaxed) + duration_ns,
                    std::memory_order_relaxed);
  }
  /// By bucket.
  [[nodiscard]] Counts counts() const noexcept {
    Counts found{};
    for (std::size_t i = 0; i < buckets; ++i)
      found[i] = counts_[i].load(std::memory_order_relaxed);  // relaxed: see add()
    return found;
  }
  [[nodiscard]] std::int64_t total_ns() const noexcept {
    return total_ns_.load(std::memory_order_relaxed);  // relaxed: see add()
  }

 private:
  std::array<std::atomic<std::uint64_t>, buckets> counts_{};
  std::atomic<std::int64_t> total_ns_{0};
};

/// How long a model's queries took that were answered well.
struct FrontTimes {
  Histogram whole, queue, compute;

  /// `waited_ns`: for a lane, negative where it is not known: then what the last one waited.
  void add(std::int64_t whole_ns, std::int64_t executing_ns, std::int64_t waited_ns) noexcept {
    if (waited_ns >= 0) last_waited_ns_ = waited_ns;
    const std::int64_t in_queue_ns = std::min(last_waited_ns_, executing_ns);
    whole.add(whole_ns);
    queue.add(in_queue_ns);
    compute.add(executing_ns - in_queue_ns);
  }

 private:
  std::int64_t last_waited_ns_ = 0;  ///< who adds alone knows it
};

}  // namespace engine::frontend
