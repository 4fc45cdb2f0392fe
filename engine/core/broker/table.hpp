// What the processes of a user tell each other, in a file that all of them map.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace engine::broker {

/// Processes, and leases of one, at most. Who comes later runs without.
inline constexpr int slot_count = 64;
inline constexpr int row_count = 64;
inline constexpr int max_width = 512;
inline constexpr std::size_t cpu_words = 16;
inline constexpr std::size_t name_words = 4;
inline constexpr std::int64_t may_be_asked = 1;

inline constexpr std::uint64_t magic = 0x7372'7572'706c'7573;
/// Of the layout below; another one's file has another default name, too.
inline constexpr std::uint32_t version = 1;

/// Up to 32 bytes of text; may be torn while it is written anew.
using Name = std::array<std::atomic<std::uint64_t>, name_words>;

/// How a lease stands: the lowest bits of Row::word, above them its number.
enum class Stand : std::uint64_t { none, waits, computes };
inline constexpr std::uint64_t stands = 4;
[[nodiscard]] constexpr std::uint64_t as(std::uint64_t word, Stand stand) noexcept {
  return word / stands * stands + static_cast<std::uint64_t>(stand);
}

/// Of a slot or row, among all.
[[nodiscard]] constexpr std::uint64_t bit(int index) noexcept { return std::uint64_t{1} << index; }

/// One lease: what a lane of a process computes or is about to. Written by that process alone.
struct alignas(64) Row {
  std::atomic<std::uint64_t> word{0};
  /// RunOrder; of what is not due, it is never due: virtual times are a process's own.
  std::atomic<std::int64_t> rank{0}, due_ns{0}, arrival_ns{0};
  /// The end is predicted; of one that waits as if it began when it came.
  std::atomic<std::int64_t> since_ns{0}, end_ns{0};
  std::atomic<std::int32_t> width{0}, cpu{-1};  ///< where it began
  std::atomic<std::uint64_t> device{0};  ///< 0: CPUs; else a GPU, by a number of its identity
  Name what{};
};

/// One process, which holds the lock on the slot's byte of the file for as long as it lives.
struct alignas(64) Slot {
  std::atomic<std::uint32_t> bell{0}, bell_sleepers{0};  ///< a futex, of lanes that wait
  /// When a query that is due last came here; `may_be_asked`: none did, but one may; 0: none will.
  std::atomic<std::int64_t> asked_ns{0};
  // What the process is; written when it takes the slot.
  std::atomic<std::int32_t> process{0};         ///< its number, where it sees itself
  std::atomic<std::uint32_t> cores{0};          ///< by affinity and quota
  std::atomic<std::uint64_t> group{0};          ///< of its control group
  std::atomic<std::uint64_t> process_space{0};  ///< in which its number holds
  std::atomic<std::int64_t> since_ns{0};
  std::array<std::atomic<std::uint64_t>, cpu_words> cpus{};
  Name name{};
  std::atomic<std::uint64_t> rows_in_use{0};
  std::array<Row, row_count> rows{};
};

/// Written once, and proven whenever the file is opened.
struct Header {
  std::uint64_t magic;
  std::uint32_t version, slots;
  std::uint64_t bytes;
  std::array<std::uint64_t, 2> boot;  ///< of the kernel: its clock is of no other one
  std::uint64_t time_space;           ///< whose monotonic clock all times are of
  std::uint64_t checksum;             ///< of all before
};

/// All of it. Nothing that is read here is trusted: indices come from bits and loops, numbers are
/// clamped, and whoever waits for others waits for a limited time.
struct Table {
  Header header;
  // What is read on every lease, each on a line or two of its own.
  alignas(64) std::atomic<std::uint64_t> live;  ///< a bit a slot
  std::atomic<std::uint64_t> changes;           ///< counts processes that came
  /// Lanes that a process leases, those that wait for their turn included, best effort excluded.
  alignas(64) std::array<std::atomic<std::uint16_t>, slot_count> leased;
  /// The same of what is best effort: nobody waits for it, but others do not spin on its cores.
  alignas(64) std::array<std::atomic<std::uint16_t>, slot_count> best_effort;
  /// Lanes that wait for their turn: whether anybody is to be rung when a lease ends.
  alignas(64) std::array<std::atomic<std::uint16_t>, slot_count> wanting;
  std::array<Slot, slot_count> slots;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint16_t>::is_always_lock_free);

}  // namespace engine::broker
