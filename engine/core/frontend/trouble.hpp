// Why queries were not answered, or not in time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "frontend/grpc.hpp"
#include "isolation/packet.hpp"

namespace engine::frontend {

/// `late` ones were answered, after they were due; the others were not answered.
enum class Trouble : std::uint8_t {
  late,
  refused,     ///< it would not have been in time, or would have waited for too long
  queue_full,  ///< as many as may be were in flight, or by its model's queue policy
  memory,      ///< the process may hold no more
  deadline,    ///< it passed first
  cancelled,
  shutdown,
  input,  ///< it did not fit the model
  failed,
};
inline constexpr std::size_t troubles = 9;

/// What another process said of a query that it did not answer.
[[nodiscard]] constexpr Trouble trouble_of(Status status, isolation::Refusal refusal) noexcept {
  if (refusal == isolation::Refusal::late) return Trouble::refused;
  if (refusal == isolation::Refusal::queue) return Trouble::queue_full;
  switch (status) {
    case Status::resource_exhausted:
      return Trouble::memory;  // who sends it counts what is in flight itself
    case Status::deadline_exceeded:
      return Trouble::deadline;
    case Status::cancelled:
      return Trouble::cancelled;
    case Status::unavailable:
      return Trouble::shutdown;
    case Status::invalid_argument:
    case Status::not_found:
    case Status::unimplemented:
      return Trouble::input;
    default:
      return Trouble::failed;
  }
}

/// How many queries of a model, by why. One thread at a time adds, any reads.
class TroubleCounts {
 public:
  using Counts = std::array<std::uint64_t, troubles>;

  void add(Trouble trouble) noexcept {
    // relaxed, both: one thread writes, each is a number by itself
    std::atomic<std::uint64_t>& count = counts_[static_cast<std::size_t>(trouble)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] Counts counts() const noexcept {
    Counts found{};
    for (std::size_t i = 0; i < troubles; ++i)
      found[i] = counts_[i].load(std::memory_order_relaxed);  // relaxed: see add()
    return found;
  }

 private:
  std::array<std::atomic<std::uint64_t>, troubles> counts_{};
};

}  // namespace engine::frontend
