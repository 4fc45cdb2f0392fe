// What the broker tells models, admission, and who looks.
#include <algorithm>
#include <bit>

#include "broker/broker.hpp"

namespace engine::broker {

void Broker::expect_asked() noexcept {
  Table* const table = this->table();
  if (table == nullptr) return;
  std::int64_t never = 0;
  // relaxed, both: a hint
  own_slot(*table).asked_ns.compare_exchange_strong(never, may_be_asked, std::memory_order_relaxed,
                                                    std::memory_order_relaxed);
}

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

void Broker::look_ahead(std::vector<LaneOutlook::Elsewhere>& found, std::int64_t now) {
  found.clear();
  Table* const table = this->table();
  if (table == nullptr || !is_shared()) return;
  sweep(news_ns / 2);
  const View view(*table, now);
  const Seen mine{.slot = slot_, .row = -1};
  for (const Seen& seen : view.leases()) {
    if (seen.slot == slot_ || !view.may_matter(seen, mine)) continue;
    const bool waits = seen.stand == Stand::waits;
    const std::int64_t left_ns = seen.end_ns - (waits ? seen.since_ns : now);
    found.push_back(
        {seen.order, std::clamp(left_ns, std::int64_t{0}, longest_ns), seen.width, waits});
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.waits != b.waits ? b.waits : a.order < b.order;
  });
}

std::string Broker::who(int slot) {
  Table* const table = this->table();
  if (table == nullptr || slot < 0 || slot >= slot_count) return {};
  const Slot& found = table->slots[static_cast<std::size_t>(slot)];
  // relaxed: it is shown only
  const std::int32_t process = found.process.load(std::memory_order_relaxed);
  return read(found.name) + " (" + std::to_string(process) + ")";
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
