#include "broker/broker.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace engine::broker {

Broker& Broker::of_process() {
  static auto* const broker = new Broker;
  [[maybe_unused]] static const int handled =
      pthread_atfork(nullptr, nullptr, [] { broker->forget(); });
  return *broker;
}

/// In a forked child: what the parent has taken stays the parent's.
void Broker::forget() noexcept {
  new (&mutex_) std::mutex;
  if (file_ == nullptr) return;
  file_->abandon();
  left_ = std::move(file_);
  // relaxed, all: there is one thread
  live_.store(&nobody_, std::memory_order_relaxed);
  own_.store(0, std::memory_order_relaxed);
  table_.store(nullptr, std::memory_order_relaxed);
  free_rows_.store(~std::uint64_t{0}, std::memory_order_relaxed);
  rivals_.store(0, std::memory_order_relaxed);
}

void Broker::join(const std::string& path, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) take_slot(path);
  describe(name);
  Table& table = file_->table();
  own_.store(bit(slot_), std::memory_order_relaxed);  // relaxed: see is_shared()
  // release: who sees the slot live sees what it says
  table.changes.fetch_add(1, std::memory_order_release);
  table.live.fetch_or(bit(slot_), std::memory_order_release);
  live_.store(&table.live, std::memory_order_relaxed);  // relaxed: see is_shared()
  table_.store(&table, std::memory_order_release);      // release: see table()
}

void Broker::take_slot(const std::string& path) {
  auto file = std::make_unique<TableFile>(path);
  for (int slot = 0; slot < slot_count; ++slot) {
    if (!file->try_lock(slot)) continue;
    slot_ = slot;
    file_ = std::move(file);
    static_cast<void>(bury(file_->table(), slot));
    return;
  }
  throw std::runtime_error("the broker's file " + path + " has no place for more than " +
                           std::to_string(slot_count) + " processes");
}

void Broker::describe(const std::string& name) {
  const Place place = Place::here();
  Slot& slot = own_slot(file_->table());
  int cpus = 0;
  // relaxed, all: published by the bit of the slot
  for (std::size_t i = 0; i < cpu_words; ++i) {
    slot.cpus[i].store(place.cpus[i], std::memory_order_relaxed);
    cpus += std::popcount(place.cpus[i]);
  }
  slot.cores.store(static_cast<std::uint32_t>(place.cores), std::memory_order_relaxed);
  slot.group.store(place.group, std::memory_order_relaxed);
  slot.process.store(::getpid(), std::memory_order_relaxed);
  slot.process_space.store(space_of("pid"), std::memory_order_relaxed);
  if (slot.since_ns.load(std::memory_order_relaxed) == 0)
    slot.since_ns.store(now_ns(), std::memory_order_relaxed);
  write(slot.name, name.data(), name.size());
  cpus_ = std::max(cpus, 1);
  cores_ = place.cores;
}

void Broker::leave() noexcept {
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  Table& table = file_->table();
  // relaxed, all: lanes hold no leases
  live_.store(&nobody_, std::memory_order_relaxed);
  table_.store(nullptr, std::memory_order_relaxed);
  static_cast<void>(bury(table, slot_));
  file_.reset();
}

/// Empties a slot whose lock is ours. Whether there was anything in it.
bool Broker::bury(Table& table, int index) noexcept {
  const auto at = static_cast<std::size_t>(index);
  Slot& slot = table.slots[at];
  // acq_rel: its next process sees it empty
  const bool lived =
      (table.live.fetch_and(~bit(index), std::memory_order_acq_rel) & bit(index)) != 0;
  // relaxed, all: nobody looks at a slot that is not live
  std::uint64_t rows = ~std::uint64_t{0};
  for (; rows != 0; rows &= rows - 1) {
    Row& row = slot.rows[static_cast<std::size_t>(std::countr_zero(rows))];
    row.word.store(as(row.word.load(std::memory_order_relaxed), Stand::none),
                   std::memory_order_relaxed);
  }
  slot.rows_in_use.store(0, std::memory_order_relaxed);
  slot.since_ns.store(0, std::memory_order_relaxed);
  slot.asked_ns.store(0, std::memory_order_relaxed);
  slot.bell_sleepers.store(0, std::memory_order_relaxed);
  table.leased[at].store(0, std::memory_order_relaxed);
  table.best_effort[at].store(0, std::memory_order_relaxed);
  table.wanting[at].store(0, std::memory_order_relaxed);
  return lived;
}

int Broker::sweep(std::int64_t unless_since_ns) noexcept {
  const std::int64_t now = now_ns();
  // relaxed: whoever sweeps twice does so in vain
  if (now - swept_ns_.load(std::memory_order_relaxed) < unless_since_ns) return 0;
  const std::lock_guard lock(mutex_);
  if (file_ == nullptr) return 0;
  swept_ns_.store(now, std::memory_order_relaxed);  // relaxed: as above
  Table& table = file_->table();
  int buried = 0;
  // relaxed: the lock decides
  std::uint64_t others = table.live.load(std::memory_order_relaxed) & ~bit(slot_);
  for (; others != 0; others &= others - 1) {
    const int slot = std::countr_zero(others);
    if (file_->is_locked(slot) || !file_->try_lock(slot)) continue;
    buried += bury(table, slot) ? 1 : 0;
    file_->unlock(slot);
  }
  if (buried != 0) ring_those(table, ~std::uint64_t{0});
  return buried;
}

/// Others whose CPUs are some of ours.
std::uint64_t Broker::rivals(const Table& table) noexcept {
  // acquire: the slots that changed. relaxed, the others: only a second look may come of it
  const std::uint64_t changes = table.changes.load(std::memory_order_acquire);
  const std::uint64_t live =
      table.live.load(std::memory_order_acquire) & ~own_.load(std::memory_order_relaxed);
  if (changes != known_changes_.load(std::memory_order_relaxed)) {
    std::uint64_t found = 0;
    const Slot& own = table.slots[static_cast<std::size_t>(slot_)];
    for (int slot = 0; slot < slot_count; ++slot) {
      const Slot& other = table.slots[static_cast<std::size_t>(slot)];
      if (cpus_beyond(own, other) < cpus_) found |= bit(slot);
    }
    rivals_.store(found, std::memory_order_relaxed);
    known_changes_.store(changes, std::memory_order_relaxed);
  }
  return rivals_.load(std::memory_order_relaxed) & live;
}

int Broker::leased_elsewhere() noexcept {
  Table* const table = this->table();
  if (table == nullptr || !is_shared()) return 0;
  int leased = 0;
  for (std::uint64_t others = rivals(*table); others != 0; others &= others - 1) {
    const auto at = static_cast<std::size_t>(std::countr_zero(others));
    // relaxed, both: a hint
    leased += table->leased[at].load(std::memory_order_relaxed);
    leased += table->best_effort[at].load(std::memory_order_relaxed);
  }
  if (leased == 0) return 0;
  sweep(news_ns / 2);
  return std::max(leased - (cpus_ - cores_), 0);
}

}  // namespace engine::broker
