#include "scheduler/kernel_watch.hpp"

#include <unistd.h>

#include <thread>
#include <utility>

namespace engine {

constinit thread_local KernelWatch::Seat* KernelWatch::mine_ = nullptr;
constinit EventCount KernelWatch::thread_;
alignas(64) constinit std::atomic<KernelWatch::State> KernelWatch::state_{KernelWatch::entered};

KernelWatch& KernelWatch::get() {
  static auto* const watch = new KernelWatch;
  return *watch;
}

KernelWatch::Seat& KernelWatch::take() noexcept {
  struct Holder {
    ~Holder() {
      mine_ = nullptr;
      // release: the next holder sees the seat left
      seat->is_taken_.store(false, std::memory_order_release);
    }
    Seat* seat = nullptr;
  };
  thread_local Holder holder;
  KernelWatch& watch = get();
  // acquire, both: see the seat's making, and its last holder gone
  for (Seat* seat = watch.seats_.load(std::memory_order_acquire); seat != nullptr;
       seat = seat->next_) {
    if (!seat->is_taken_.exchange(true, std::memory_order_acquire)) {
      holder.seat = seat;
      break;
    }
  }
  if (holder.seat == nullptr) {
    holder.seat = new Seat;
    holder.seat->next_ = watch.seats_.load(std::memory_order_relaxed);  // the exchange checks it
    // release: whoever walks the list sees the seat whole
    while (!watch.seats_.compare_exchange_weak(
        holder.seat->next_, holder.seat, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  mine_ = holder.seat;
  return *mine_;
}

void KernelWatch::start() {
  const int process = ::getpid();
  int known = process_.load(std::memory_order_relaxed);  // relaxed: the exchange decides
  while (known != process) {
    // relaxed: nothing is handed over by it
    if (!process_.compare_exchange_weak(known, process, std::memory_order_relaxed)) continue;
    // What other threads were in when the process forked, nobody is in.
    for (Seat* seat = seats_.load(std::memory_order_acquire); known != 0 && seat != nullptr;
         seat = seat->next_)
      if (seat != mine_) seat->watched_.store(0, std::memory_order_relaxed);
    state_.store(entered, std::memory_order_relaxed);  // the parent's thread may have slept
    std::thread([this] { watch(); }).detach();
    return;
  }
}

void KernelWatch::Seat::note_late(Watched& watched, std::int64_t now_ns) noexcept {
  if (is_held_) return;
  const auto address = reinterpret_cast<std::uintptr_t>(&watched);
  if (late_ != address) {
    late_ = address;
    late_since_ns_ = now_ns;
  } else if (now_ns - late_since_ns_ >= held_after_ns) {
    is_held_ = true;
    watched.hold(part_);
  }
}

void KernelWatch::Seat::end_late(Watched& watched) noexcept {
  late_ = 0;
  if (std::exchange(is_held_, false)) watched.let_go(part_);
}

bool KernelWatch::look(std::int64_t now_ns) noexcept {
  bool found = false;
  // acquire: as in take()
  for (Seat* seat = seats_.load(std::memory_order_acquire); seat != nullptr; seat = seat->next_) {
    std::uintptr_t watched = seat->watched_.load(std::memory_order_relaxed);
    if (watched == 0 || (watched & 1U) != 0) continue;
    // acquire: see it prepared; its holder does not leave while the bit is set
    if (!seat->watched_.compare_exchange_strong(watched, watched | 1U, std::memory_order_acquire,
                                                std::memory_order_relaxed))
      continue;
    auto& inside = *reinterpret_cast<Watched*>(watched);
    if (inside.look(now_ns)) seat->note_late(inside, now_ns);
    // release: pairs with the end of the stay
    seat->watched_.store(watched, std::memory_order_release);
    found = true;
  }
  return found;
}

/// Wakes the thread if it would look too late.
void KernelWatch::note_entered(State tells) noexcept {
  State before = state_.load(std::memory_order_relaxed);  // relaxed: the exchange checks it
  do {
    if (before <= tells) return;
    // seq_cst: before we look whether the thread waits (parker.hpp)
  } while (!state_.compare_exchange_weak(before, tells, std::memory_order_seq_cst));
  if (before == asleep || (tells == pressing && before != quiet)) thread_.notify(1);
}

/// After a look that found nobody. Who entered a kernel and still saw an older state had its seat
/// taken a whole tick before the look that lets the thread sleep, which finds it if it is there.
void KernelWatch::rest() noexcept {
  const EventCount::Key key = thread_.prepare();
  State before = state_.load(std::memory_order_relaxed), after = asleep;  // relaxed: as above
  do {
    after = before == pressing ? quiet : before == entered ? slow : asleep;
    // seq_cst: after prepare()
  } while (!state_.compare_exchange_weak(before, after, std::memory_order_seq_cst));
  const std::int64_t tick_ns = after == quiet ? idle_tick_ns : slow_tick_ns;
  thread_.wait(key, after == asleep ? 0 : now_ns() + tick_ns);
}

void KernelWatch::watch() noexcept {
  for (;;) {
    if (look(now_ns()))
      std::this_thread::sleep_for(std::chrono::nanoseconds(busy_tick_ns));
    else
      rest();
  }
}

}  // namespace engine
