// What a process sees of all leases at one moment, and who goes first.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "broker/table.hpp"
#include "scheduler/run_order.hpp"

namespace engine::broker {

/// A lease as it was seen.
struct Seen {
  int slot = 0, row = 0;
  std::uint64_t word = 0;
  Stand stand = Stand::none;
  RunOrder order = {};
  int width = 1;
  int cpu = -1;
  std::int64_t since_ns = 0, end_ns = 0;

  /// The total order of all leases of the machine.
  [[nodiscard]] bool precedes(const Seen& other) const noexcept;
};

/// How a lease stands among the others, to its own process.
struct Standing {
  /// Whether it may compute: on a core of its own, or beside what is less urgent if it cannot
  /// afford to wait for one.
  bool is_its_turn = false;
  int beside = -1;           ///< the CPU of what it then computes beside; -1: it has a core
  bool is_outranked = true;  ///< those that go before it by more than arrival leave it no core
  std::uint64_t before = 0;  ///< changes when those before it do
  /// Of those in its way one of another process, by its slot, rather one that computes; -1: none
  /// is.
  int ahead = -1;
};

/// A copy of the leases of CPUs, or of another device, which then is one for all of them; of the
/// first `most`. About 100 ns a process and 10 a lease. Rows that are just being written may be
/// wrong for one decision: all of it is advice.
class View {
 public:
  View(const Table& table, std::int64_t now_ns, std::uint64_t device = 0) noexcept;

  /// The lease of that row; null: there is none, or it was not looked at.
  [[nodiscard]] const Seen* find(int slot, int row) const noexcept;
  [[nodiscard]] Standing of(const Seen& mine) const noexcept;
  /// Whether there may be more than were looked at.
  [[nodiscard]] bool is_full() const noexcept { return count_ == most; }
  [[nodiscard]] std::span<const Seen> leases() const noexcept { return {seen_.data(), count_}; }
  /// Whether it is another one that may have a CPU of its process, or the same device. Best effort
  /// has no CPU to what is not: the kernel takes it away.
  [[nodiscard]] bool may_matter(const Seen& other, const Seen& mine) const noexcept;

 private:
  static constexpr std::size_t most = 128;
  /// What there is of a process.
  struct Process {
    int cpus = 1, cores = 1;
    std::uint64_t group = 0;
  };

  using Lanes = std::array<int, slot_count>;  ///< by process

  void look_at(const Slot& slot, int index) noexcept;
  [[nodiscard]] int leased_of(int slot, int owner, int width) const noexcept;
  [[nodiscard]] int left_to(int owner, const Lanes& lanes) const noexcept;
  [[nodiscard]] const Seen* least_urgent(const Seen& mine) const noexcept;

  const Table& table_;
  const std::int64_t now_ns_;
  const std::uint64_t device_;
  std::array<Process, slot_count> processes_{};
  std::array<Seen, most> seen_;
  std::size_t count_ = 0;
};

/// CPUs that a process may use, and that another may not.
[[nodiscard]] int cpus_beyond(const Slot& slot, const Slot& other) noexcept;

}  // namespace engine::broker
