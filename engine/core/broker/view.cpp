#include "broker/view.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "devices/cpu/loan.hpp"

namespace engine::broker {

namespace {

/// What takes less yet is waited for.
constexpr std::int64_t short_ns = 150'000;
constexpr int most_cores = 1024;

int cpus_of(const Slot& slot) noexcept {
  int cpus = 0;
  // relaxed: written before the slot was live
  for (const auto& word : slot.cpus) cpus += std::popcount(word.load(std::memory_order_relaxed));
  return std::max(cpus, 1);
}

}  // namespace

int cpus_beyond(const Slot& slot, const Slot& other) noexcept {
  int cpus = 0;
  // relaxed, both: as above
  for (std::size_t i = 0; i < cpu_words; ++i)
    cpus += std::popcount(slot.cpus[i].load(std::memory_order_relaxed) &
                          ~other.cpus[i].load(std::memory_order_relaxed));
  return cpus;
}

bool Seen::precedes(const Seen& other) const noexcept {
  if (order != other.order) return order < other.order;
  return std::tie(slot, row) < std::tie(other.slot, other.row);
}

View::View(const Table& table, std::int64_t now_ns, std::uint64_t device) noexcept
    : table_(table), now_ns_(now_ns), device_(device) {
  // acquire: what the slots' processes say of themselves
  std::uint64_t live = table.live.load(std::memory_order_acquire);
  for (; live != 0; live &= live - 1) {
    const int index = std::countr_zero(live);
    const Slot& slot = table.slots[static_cast<std::size_t>(index)];
    Process& process = processes_[static_cast<std::size_t>(index)];
    process.cpus = cpus_of(slot);
    // relaxed, both: as in cpus_of()
    process.cores = std::clamp(static_cast<int>(std::min(slot.cores.load(std::memory_order_relaxed),
                                                         std::uint32_t{most_cores})),
                               1, process.cpus);
    process.group = slot.group.load(std::memory_order_relaxed);
    look_at(slot, index);
  }
}

void View::look_at(const Slot& slot, int index) noexcept {
  // relaxed: a row that is missed is one that has just begun
  std::uint64_t rows = slot.rows_in_use.load(std::memory_order_relaxed);
  for (; rows != 0 && count_ < most; rows &= rows - 1) {
    const int number = std::countr_zero(rows);
    const Row& row = slot.rows[static_cast<std::size_t>(number)];
    Seen& seen = seen_[count_];
    seen = Seen{.slot = index, .row = number};
    // seq_cst: a lane that goes to sleep and one that ends cannot miss each other
    seen.word = row.word.load(std::memory_order_seq_cst);
    seen.stand = static_cast<Stand>(seen.word % stands);
    // relaxed, all that follow: see the class
    if (seen.stand == Stand::none || row.device.load(std::memory_order_relaxed) != device_)
      continue;
    seen.order = {row.rank.load(std::memory_order_relaxed),
                  row.due_ns.load(std::memory_order_relaxed),
                  static_cast<std::uint64_t>(row.arrival_ns.load(std::memory_order_relaxed))};
    if (seen.order.may_be_late() && now_ns_ > seen.order.due_ns) seen.order = seen.order.late();
    seen.width = std::clamp(row.width.load(std::memory_order_relaxed), 1, max_width);
    seen.cpu = row.cpu.load(std::memory_order_relaxed);
    seen.since_ns = row.since_ns.load(std::memory_order_relaxed);
    seen.end_ns = row.end_ns.load(std::memory_order_relaxed);
    ++count_;
  }
}

const Seen* View::find(int slot, int row) const noexcept {
  const auto found = std::ranges::find_if(
      leases(), [&](const Seen& seen) { return seen.slot == slot && seen.row == row; });
  return found == leases().end() ? nullptr : &*found;
}

/// CPUs of the owner's that `width` lanes of a process take at least: it may have others.
int View::leased_of(int slot, int owner, int width) const noexcept {
  const auto at = static_cast<std::size_t>(slot);
  if (slot == owner || width == 0) return width;
  const int beyond = cpus_beyond(table_.slots[at], table_.slots[static_cast<std::size_t>(owner)]);
  return std::max(std::min(width, processes_[at].cores) - beyond, 0);
}

/// CPUs that processes with so many lanes leave to the owner.
int View::left_to(int owner, const Lanes& lanes) const noexcept {
  if (device_ != 0) return 1 - std::accumulate(lanes.begin(), lanes.end(), 0);
  const Process& own = processes_[static_cast<std::size_t>(owner)];
  int of_cpus = own.cpus, of_group = own.cores;
  for (int slot = 0; slot < slot_count; ++slot) {
    const auto at = static_cast<std::size_t>(slot);
    const int leased = leased_of(slot, owner, lanes[at]);
    of_cpus -= leased;
    if (processes_[at].group == own.group) of_group -= leased;
  }
  return std::min(of_cpus, of_group);
}

bool View::may_matter(const Seen& other, const Seen& mine) const noexcept {
  if (other.slot == mine.slot && other.row == mine.row) return false;
  if (device_ != 0) return true;
  if (other.order.is_best_effort() && !mine.order.is_best_effort()) return false;
  const auto own = static_cast<std::size_t>(mine.slot);
  const auto its = static_cast<std::size_t>(other.slot);
  return own == its || cpus_beyond(table_.slots[own], table_.slots[its]) < processes_[own].cpus;
}

Standing View::of(const Seen& mine) const noexcept {
  Lanes before{}, by_rank{}, taken{};
  Standing found;
  for (const Seen& other : leases()) {
    if (!may_matter(other, mine)) continue;
    const auto slot = static_cast<std::size_t>(other.slot);
    const bool is_before = other.precedes(mine);
    if (is_before) {
      before[slot] += other.width;
      found.before +=
          other.word * 31 + static_cast<std::uint64_t>(other.slot * row_count + other.row);
    }
    if (is_before || other.stand == Stand::computes) {
      taken[slot] += other.width;
      if (other.slot != mine.slot && (found.ahead < 0 || other.stand == Stand::computes))
        found.ahead = other.slot;
    }
    if (other.order.preempts(mine.order)) by_rank[slot] += other.width;
  }
  const int cores = device_ != 0 ? 1 : processes_[static_cast<std::size_t>(mine.slot)].cores;
  const int wanted = std::min(mine.width, cores);
  found.is_outranked = left_to(mine.slot, by_rank) < wanted;
  found.is_its_turn = left_to(mine.slot, taken) >= wanted;
  if (found.is_its_turn || left_to(mine.slot, before) < wanted) return found;
  if (const Seen* const least = least_urgent(mine)) {
    found.is_its_turn = true;
    found.beside = least->cpu;
  }
  return found;
}

/// What `mine` computes beside, as within a process (LeastUrgent); null: it waits.
const Seen* View::least_urgent(const Seen& mine) const noexcept {
  LeastUrgent last(mine.order, now_ns_, short_ns);
  const Seen* found = nullptr;
  for (const Seen& other : leases()) {
    if (other.stand != Stand::computes || !may_matter(other, mine)) continue;
    if (last.is_it({.word = 0, .order = other.order, .end_ns = other.end_ns})) found = &other;
  }
  return last.waits() ? nullptr : found;
}

}  // namespace engine::broker
