#include "broker/device_lease.hpp"

#include <algorithm>

#include "files/checksum.hpp"

namespace engine::broker {

namespace {

/// As others see it.
RunOrder shown(const Claim& claim) noexcept {
  return {claim.order.rank, claim.order.is_due() ? claim.order.due_ns : RunOrder::never,
          static_cast<std::uint64_t>(claim.arrival_ns)};
}

}  // namespace

std::uint64_t device_number(std::string_view identity) noexcept {
  Checksum sum;
  sum.add(identity.data(), identity.size());
  return std::max(sum.value(), std::uint64_t{1});
}

DeviceLease::~DeviceLease() {
  end();
  broker_.give_back_row(row_);
}

Row& DeviceLease::row(Table& table) const noexcept {
  return broker_.own_slot(table).rows[static_cast<std::size_t>(row_)];
}

void DeviceLease::stand(Table& table, Stand stand) noexcept {
  std::atomic<std::uint64_t>& word = row(table).word;
  // relaxed: ours; what begins to wait has another number
  const std::uint64_t last = word.load(std::memory_order_relaxed);
  const std::uint64_t next = stand == Stand::waits ? last + stands : last;
  word.store(as(next, stand), std::memory_order_seq_cst);  // seq_cst: before we look at others
  stand_ = stand;
}

bool DeviceLease::may_submit(const Claim& claim, std::int64_t now) {
  Table* const table = broker_.table();
  if (device_ == 0 || table == nullptr || !broker_.is_shared()) return true;
  if (row_ < 0 && (row_ = broker_.take_row()) < 0) return true;
  Row& own = row(*table);
  if (stand_ == Stand::computes) {
    if (is_wanted(*table, claim, now)) return false;
    Broker::show(own, claim, now);
    return true;
  }
  if (stand_ == Stand::none) began_ns_ = news_ns_ = now;
  own.device.store(device_, std::memory_order_relaxed);  // relaxed: see View
  Broker::show(own, claim, began_ns_);
  if (stand_ == Stand::none) stand(*table, Stand::waits);
  broker_.use(broker_.own_slot(*table), row_);
  if (!is_turn(*table, claim, now)) return false;
  Broker::start(own, claim);
  stand_ = Stand::computes;
  return true;
}

/// Whether somebody waits who goes before what we are about to give it.
bool DeviceLease::is_wanted(Table& table, const Claim& claim, std::int64_t now) const {
  const View view(table, now, device_);
  const Seen next{.slot = broker_.slot_, .row = row_, .order = shown(claim)};
  return std::ranges::any_of(view.leases(), [&](const Seen& other) {
    return other.stand == Stand::waits && view.may_matter(other, next) && other.precedes(next);
  });
}

bool DeviceLease::is_turn(Table& table, const Claim& claim, std::int64_t now) {
  broker_.sweep(Broker::look_ns);
  const View view(table, now, device_);
  const Seen* const mine = view.find(broker_.slot_, row_);
  if (mine == nullptr) return true;
  const Standing standing = view.of(*mine);
  if (standing.is_its_turn) return true;
  if (standing.before != before_) news_ns_ = now;
  before_ = standing.before;
  return now >= Broker::patience_ends(claim, standing, began_ns_, news_ns_);
}

void DeviceLease::end() noexcept {
  if (stand_ == Stand::none) return;
  if (Table* const table = broker_.table()) stand(*table, Stand::none);
  stand_ = Stand::none;
}

}  // namespace engine::broker
