// Lanes of a CPU that are lent to more urgent runs: the parts of CpuDevice that do it.
#include <algorithm>
#include <exception>
#include <mutex>

#include "devices/cpu/cpu_device.hpp"
#include "devices/cpu/thread_weight.hpp"

namespace engine {

bool CpuDevice::is_lendable(const Lane& lane, std::int64_t service_ns, bool leases) const noexcept {
  // relaxed: a flag that is set once
  return service_ns >= worth_lending_ns && lane.taker.seats == 1 && !is_idle_ &&
         (leases || lends_.load(std::memory_order_relaxed));
}

/// For who found all seats taken. Whoever comes while another thread is here leaves it to that,
/// which looks again: nobody waits.
void CpuDevice::lend() {
  // relaxed: a flag that is set once
  if (!lends_.load(std::memory_order_relaxed) || !queue_.maybe_ready()) return;
  // acq_rel: what the others pushed before they left it to us
  if (lend_calls_.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  for (int calls = 1; calls != 0;) {
    while (lend_once()) {
    }
    // acq_rel: as above
    const int before = lend_calls_.fetch_sub(calls, std::memory_order_acq_rel);
    calls = before - calls;
  }
}

/// False when nothing more is to be lent.
bool CpuDevice::lend_once() {
  // seq_cst: see arrived()
  if (coming_.load(std::memory_order_seq_cst) != 0) return false;  // who comes looks again
  const std::optional<RunOrder> first = queue_.first_order();
  if (!first) return false;
  Loan::Offer offer;
  Lane* const lender = least_urgent(*first, offer);
  if (lender == nullptr) return false;
  // seq_cst, both: as in offer_vacancy(). Before the place is lent: somebody must come for it.
  const int vacant = vacant_.load(std::memory_order_seq_cst);
  if (borrowers_.load(std::memory_order_seq_cst) <= vacant && !begin_borrower()) return false;
  Lane* place = nullptr;
  {
    const std::lock_guard lock(places_lock_);
    if (free_places_.empty()) return false;
    place = free_places_.back();
    free_places_.pop_back();
  }
  place->lender = lender;
  place->lenders_order = offer.order;
  place->shown_id = lender->shown_id;
  place->taker = {nullptr, 1, &place->lenders_order};
  if (!lender->loan.lend(offer)) {
    return_place(*place);
    return true;  // it has ended: look again
  }
  place->is_coming = true;
  coming_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: see arrived()
  offer_vacancy(place);
  return false;
}

/// The borrower has looked into the queue; it looks again whether more is to be lent.
void CpuDevice::arrived(Lane& place) {
  place.is_coming = false;
  coming_.fetch_sub(1, std::memory_order_seq_cst);  // seq_cst: before we look what there is
}

/// The lane whose computation goes last, and after `first`; null: there is none, or one ends so
/// soon that `first` can wait for it.
CpuDevice::Lane* CpuDevice::least_urgent(const RunOrder& first, Loan::Offer& offer) {
  LeastUrgent last(first, now_ns(), worth_lending_ns / 2);
  Lane* found = nullptr;
  for (const auto& lane : by_id_) {
    const std::optional<Loan::Offer> other = lane->loan.offer();
    if (other && last.is_it(*other)) found = lane.get();
  }
  offer = last.offer();
  return last.waits() ? nullptr : found;
}

/// A borrower takes that place.
void CpuDevice::offer_vacancy(Lane* place) {
  {
    const std::lock_guard lock(places_lock_);
    vacancies_.push_back(place);
  }
  vacant_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: before we look for who waits
  borrowers_parked_.notify(1);
}

/// False: the system gives us no thread, or the device stops.
bool CpuDevice::begin_borrower() {
  const std::lock_guard lock(threads_mutex_);
  if (stopping_.load(std::memory_order_seq_cst)) return false;  // seq_cst: see stop()
  try {
    workers_.emplace_back([this] {
      ask_for_short_slices();
      borrow();
    });
  } catch (const std::exception&) {
    return false;
  }
  borrowers_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: as in offer_vacancy()
  return true;
}

/// What a borrower's thread does until it ends.
void CpuDevice::borrow() {
  for (Lane* place = nullptr; await_vacancy(place);) {
    serve_loan(place);
    borrowers_.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: as in offer_vacancy()
  }
}

/// False: the device stops.
bool CpuDevice::await_vacancy(Lane*& place) {
  for (;;) {
    const EventCount::Key key = borrowers_parked_.prepare();
    const bool vacant = vacant_.load(std::memory_order_seq_cst) != 0;  // seq_cst: as parker.hpp
    if (vacant || is_over(nullptr)) {
      borrowers_parked_.cancel();
      const std::lock_guard lock(places_lock_);
      if (!vacancies_.empty()) {
        place = vacancies_.back();
        vacancies_.pop_back();
        borrowers_.fetch_sub(1, std::memory_order_seq_cst);  // seq_cst: as in offer_vacancy()
        vacant_.fetch_sub(1, std::memory_order_seq_cst);     // seq_cst: as above
        return true;
      }
      if (is_over(nullptr)) return false;
      continue;
    }
    borrowers_parked_.wait(key);
  }
}

/// Runs what goes before the run that computes in the lender's lane, then gives the place back, or
/// goes on as the lane's holder if that run has ended.
void CpuDevice::serve_loan(Lane* place) {
  machine_.budget().add_running(1);
  spread_.move_to(place->lender->loan.cpu());
  for (;;) {
    if (drive(*place) == Left::gone) return;
    Lane* const lender = place->lender;
    if (lender == nullptr) return leave(*place);
    const bool given = lender->loan.give_back();
    return_place(*place);
    machine_.budget().remove_running(1);
    if (given) return wake(1);  // what came before we gave it back found it lent
    place = lender;
    place->taker.helps = nullptr;
  }
}

void CpuDevice::return_place(Lane& place) {
  place.lender = nullptr;
  const std::lock_guard lock(places_lock_);
  free_places_.push_back(&place);
}

/// After a computation whose place was lent. What the node made ready is queued before the lane may
/// be another's.
CpuDevice::Left CpuDevice::hand_over(Lane& lane, Run& run, const PlanNode& node,
                                     std::int64_t end_ns) {
  complete(lane, run, node, end_ns);
  const bool queues = !lane.fresh.empty() || !lane.kept.empty();
  if (queues) flush(lane, run);
  if (!lane.loan.leave()) return Left::nothing;
  if (queues) wake(1);
  return Left::gone;
}

}  // namespace engine
