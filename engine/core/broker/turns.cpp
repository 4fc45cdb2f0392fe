// Leases of lanes, and waiting for their turns: the parts of Broker that do it.
#include <sched.h>

#include <algorithm>
#include <bit>

#include "broker/bell.hpp"
#include "broker/broker.hpp"
#include "devices/cpu/loan.hpp"

namespace engine::broker {

namespace {

/// The shortest time that a query which is not due waits for its equals.
constexpr std::int64_t least_patience_ns = 1'000'000;

}  // namespace

void Broker::count(Table& table, bool best_effort, int lanes) noexcept {
  auto& all = best_effort ? table.best_effort : table.leased;
  // seq_cst: see leased(). A count of sixteen bits, of which this adds the lower ones.
  all[static_cast<std::size_t>(slot_)].fetch_add(static_cast<std::uint16_t>(lanes),
                                                 std::memory_order_seq_cst);
}

/// Lanes that are leased by us and by whoever shares CPUs with us.
int Broker::leased(Table& table) noexcept {
  int leased = 0;
  for (std::uint64_t all = rivals(table) | bit(slot_); all != 0; all &= all - 1)
    // seq_cst: of two that begin at once, one sees the other
    leased += table.leased[static_cast<std::size_t>(std::countr_zero(all))].load(
        std::memory_order_seq_cst);
  return leased;
}

int Broker::take_row() noexcept {
  std::uint64_t free = free_rows_.load(std::memory_order_relaxed);  // relaxed: the CAS confirms it
  while (free != 0)
    // acquire: the row as its last lane left it
    if (free_rows_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                         std::memory_order_relaxed))
      return std::countr_zero(free);
  return -1;
}

void Broker::give_back_row(int row) noexcept {
  if (row >= 0) free_rows_.fetch_or(bit(row), std::memory_order_release);  // release: to the next
}

void Broker::show(Row& row, const Claim& claim, std::int64_t now) noexcept {
  // relaxed, all: see View
  row.rank.store(claim.order.rank, std::memory_order_relaxed);
  row.due_ns.store(claim.order.is_due() ? claim.order.due_ns : RunOrder::never,
                   std::memory_order_relaxed);
  row.arrival_ns.store(claim.arrival_ns, std::memory_order_relaxed);
  row.since_ns.store(now, std::memory_order_relaxed);
  row.end_ns.store(now + claim.service_ns, std::memory_order_relaxed);
  row.width.store(claim.width, std::memory_order_relaxed);
  row.cpu.store(sched_getcpu(), std::memory_order_relaxed);
  write(row.what, claim.what.data(), claim.what.size());
}

Turn Broker::begin(int row_number, const Claim& claim, const std::function<bool()>& gives_up) {
  Table* const table = this->table();
  if (table == nullptr || row_number < 0) return {};
  Slot& slot = own_slot(*table);
  Row& row = slot.rows[static_cast<std::size_t>(row_number)];
  const std::int64_t now = now_ns();
  // relaxed: see View
  row.device.store(0, std::memory_order_relaxed);
  show(row, claim, now);
  const std::uint64_t last = row.word.load(std::memory_order_relaxed);  // relaxed: ours
  // seq_cst: before we look at others, and they at us. It waits until it is known that it need not:
  // of two that begin at once one goes first, and both see which.
  row.word.store(as(last + stands, Stand::waits), std::memory_order_seq_cst);
  use(slot, row_number);
  sweep(longest_ns);
  const bool best_effort = claim.order.is_best_effort();
  count(*table, best_effort, std::clamp(claim.width, 1, max_width));
  const bool has_core = best_effort ? !is_among_strangers(*table) : leased(*table) <= cores_;
  Turn turn;
  if (!has_core) turn = settle(*table, row_number, claim, gives_up);
  turn.since_ns = now;
  start(row, claim);
  return turn;
}

/// From now on others look at that row.
void Broker::use(Slot& slot, int row) const noexcept {
  // relaxed, both: who misses the row misses one that has just begun
  if ((slot.rows_in_use.load(std::memory_order_relaxed) & bit(row)) == 0)
    slot.rows_in_use.fetch_or(bit(row), std::memory_order_relaxed);
}

void Broker::end(int row_number) noexcept {
  Table* const table = this->table();
  if (table == nullptr || row_number < 0) return;
  Row& row = own_slot(*table).rows[static_cast<std::size_t>(row_number)];
  // relaxed, all three: ours
  const std::uint64_t word = row.word.load(std::memory_order_relaxed);
  if (static_cast<Stand>(word % stands) == Stand::none) return;
  const RunOrder order{row.rank.load(std::memory_order_relaxed), 0, 0};
  const int width = std::clamp(row.width.load(std::memory_order_relaxed), 1, max_width);
  row.word.store(as(word, Stand::none), std::memory_order_seq_cst);  // seq_cst: see ring_waiting()
  count(*table, order.is_best_effort(), -width);
  ring_waiting(*table);
}

/// Of those whom the kernel does not weigh against our threads.
bool Broker::is_among_strangers(const Table& table) const noexcept {
  // relaxed, all: a hint
  const std::uint64_t group =
      table.slots[static_cast<std::size_t>(slot_)].group.load(std::memory_order_relaxed);
  std::uint64_t live = table.live.load(std::memory_order_relaxed);
  for (; live != 0; live &= live - 1) {
    const Slot& slot = table.slots[static_cast<std::size_t>(std::countr_zero(live))];
    if (slot.group.load(std::memory_order_relaxed) != group) return true;
  }
  return false;
}

void Broker::start(Row& row, const Claim& claim) noexcept {
  row.end_ns.store(now_ns() + claim.service_ns, std::memory_order_relaxed);  // relaxed: see View
  const std::uint64_t word = row.word.load(std::memory_order_relaxed);       // relaxed: ours
  row.word.store(as(word, Stand::computes), std::memory_order_release);  // release: its end, too
}

/// There may be more leases than cores: whose turn is it?
Turn Broker::settle(Table& table, int row, const Claim& claim,
                    const std::function<bool()>& gives_up) {
  {
    const View view(table, now_ns());
    const Seen* const mine = view.find(slot_, row);
    if (mine == nullptr) return {};
    const Standing standing = view.of(*mine);
    if (!claim.waits || standing.is_its_turn) return {.beside = standing.beside};
  }
  return await_turn(table, row, claim, gives_up);
}

/// Until when it waits, if it began to and there was news at those times.
std::int64_t Broker::patience_ends(const Claim& claim, const Standing& standing,
                                   std::int64_t began_ns, std::int64_t last_ns) noexcept {
  if (standing.is_outranked) return std::min(last_ns + news_ns, began_ns + longest_ns);
  // Equals that are not due share the cores as the kernel divides them after a while.
  if (!claim.order.is_due())
    return began_ns + std::clamp(claim.service_ns, least_patience_ns, news_ns);
  const std::int64_t left_ns = claim.order.due_ns - began_ns;
  return began_ns +
         (left_ns > 0 ? std::min(LeastUrgent::affordable_ns(left_ns), news_ns) : news_ns);
}

Turn Broker::await_turn(Table& table, int row_number, const Claim& claim,
                        const std::function<bool()>& gives_up) {
  Slot& slot = own_slot(table);
  Row& row = slot.rows[static_cast<std::size_t>(row_number)];
  std::atomic<std::uint16_t>& wanting = table.wanting[static_cast<std::size_t>(slot_)];
  wanting.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: before we look once more
  const std::int64_t began = now_ns();
  std::int64_t news = began;
  std::uint64_t before = 0;
  Turn turn;
  for (std::int64_t now = began; !gives_up(); now = now_ns()) {
    const std::uint32_t key = slot.bell.load(std::memory_order_seq_cst);  // seq_cst: before a look
    give_way_if_late(table, row, claim, now);
    const View view(table, now);
    const Seen* const mine = view.find(slot_, row_number);
    if (mine == nullptr) break;
    const Standing standing = view.of(*mine);
    turn.beside = standing.beside;
    if (standing.is_its_turn) break;
    if (standing.ahead >= 0) turn.waited_for = standing.ahead;
    if (standing.before != before) news = now;
    before = standing.before;
    const std::int64_t until = patience_ends(claim, standing, began, news);
    if (now >= until) break;
    sleep_on(slot.bell, slot.bell_sleepers, key, std::min(until, now + look_ns));
    if (slot.bell.load(std::memory_order_relaxed) == key) sweep(look_ns);  // relaxed: a hint
  }
  wanting.fetch_sub(1, std::memory_order_seq_cst);  // seq_cst: as above
  return turn;
}

/// As ReadyQueue has it: what cannot be in time any more goes behind what may be.
void Broker::give_way_if_late(Table& table, Row& row, const Claim& claim,
                              std::int64_t now) noexcept {
  if (!claim.order.may_be_late() || now + claim.left_ns <= claim.order.due_ns) return;
  const std::int64_t rank = claim.order.late().rank;
  // relaxed, both: ours
  if (row.rank.load(std::memory_order_relaxed) == rank) return;
  row.rank.store(rank, std::memory_order_relaxed);
  ring_waiting(table);
}

/// Those lanes look again whose turn has come.
void Broker::ring_waiting(Table& table) noexcept {
  bool wants = false;
  // relaxed: the dead wait not
  for (std::uint64_t live = table.live.load(std::memory_order_relaxed); live != 0; live &= live - 1)
    // seq_cst: after the lease's end; who begins to wait looks after it has said so
    wants = wants || table.wanting[static_cast<std::size_t>(std::countr_zero(live))].load(
                         std::memory_order_seq_cst) != 0;
  if (!wants) return;
  const View view(table, now_ns());
  std::uint64_t bells = 0;
  for (const Seen& seen : view.leases())
    if (seen.stand == Stand::waits && view.of(seen).is_its_turn) bells |= bit(seen.slot);
  ring_those(table, view.is_full() ? ~std::uint64_t{0} : bells);
}

/// Of the processes that are there.
void Broker::ring_those(Table& table, std::uint64_t slots) noexcept {
  slots &= table.live.load(std::memory_order_relaxed);  // relaxed: as above
  for (; slots != 0; slots &= slots - 1) {
    Slot& slot = table.slots[static_cast<std::size_t>(std::countr_zero(slots))];
    ring(slot.bell, slot.bell_sleepers);
  }
}

}  // namespace engine::broker
