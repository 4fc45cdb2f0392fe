// What the broker tells models, and who looks.
#include <algorithm>
#include <bit>

#include "broker/broker.hpp"

namespace engine::broker {

void Broker::note_asked(std::int64_t now_ns) noexcept {
  // relaxed: a hint
  if (Table* const table = this->table())
    own_slot(*table).asked_ns.store(now_ns, std::memory_order_relaxed);
}

std::int64_t Broker::asked_elsewhere() noexcept {
  Table* const table = this->table();
  if (table == nullptr || !is_shared()) return 0;
  std::int64_t last = 0;
  for (std::uint64_t others = rivals(*table); others != 0; others &= others - 1)
    // relaxed: a hint
    last = std::max(last,
                    table->slots[static_cast<std::size_t>(std::countr_zero(others))].asked_ns.load(
                        std::memory_order_relaxed));
  return last;
}

std::vector<Listed> Broker::list() {
  sweep();
  std::vector<Listed> found;
  Table* const table = this->table();
  if (table == nullptr) return found;
  const std::uint64_t space = space_of("pid");
  std::uint64_t live = table->live.load(std::memory_order_acquire);  // acquire: see join()
  for (; live != 0; live &= live - 1) {
    const int index = std::countr_zero(live);
    const Slot& slot = table->slots[static_cast<std::size_t>(index)];
    // relaxed, all that follow: they are shown only
    std::uint64_t rows = slot.rows_in_use.load(std::memory_order_relaxed);
    for (; rows != 0; rows &= rows - 1) {
      const Row& row = slot.rows[static_cast<std::size_t>(std::countr_zero(rows))];
      const std::uint64_t word = row.word.load(std::memory_order_relaxed);
      if (static_cast<Stand>(word % stands) == Stand::none) continue;
      found.push_back(
          {.slot = index,
           .process = slot.process.load(std::memory_order_relaxed),
           .is_in_our_space = slot.process_space.load(std::memory_order_relaxed) == space,
           .name = read(slot.name),
           .what = read(row.what),
           .device = row.device.load(std::memory_order_relaxed),
           .computes = static_cast<Stand>(word % stands) == Stand::computes,
           .order = {row.rank.load(std::memory_order_relaxed),
                     row.due_ns.load(std::memory_order_relaxed), 0},
           .width = std::clamp(row.width.load(std::memory_order_relaxed), 1, max_width),
           .since_ns = row.since_ns.load(std::memory_order_relaxed),
           .end_ns = row.end_ns.load(std::memory_order_relaxed)});
    }
  }
  return found;
}

}  // namespace engine::broker
