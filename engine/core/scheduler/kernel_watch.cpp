#include "scheduler/kernel_watch.hpp"

#include <unistd.h>

#include <thread>
#include <utility>

namespace engine {

constinit thread_local KernelWatch::Seat* KernelWatch::mine_ = nullptr;
alignas(64) constinit std::atomic<std::uint32_t> KernelWatch::state_{KernelWatch::entered};

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

void KernelWatch::note_entered() noexcept {
  // relaxed: the thread reads nothing of ours that the seats do not order
  if (state_.exchange(entered, std::memory_order_relaxed) == asleep) state_.notify_one();
}

/// After a look that found nobody. Who entered a kernel and still saw `entered` had its seat
/// taken a whole tick before the look that lets the thread sleep, which finds it if it is there.
void KernelWatch::rest() noexcept {
  // relaxed, all: see note_entered()
  std::uint32_t state = quiet;
  if (state_.compare_exchange_strong(state, asleep, std::memory_order_relaxed))
    state_.wait(asleep, std::memory_order_relaxed);
  else
    state_.compare_exchange_strong(state, quiet, std::memory_order_relaxed);
}

void KernelWatch::watch() noexcept {
  for (;;) {
    const bool busy = look(now_ns());
    if (!busy) rest();
    std::this_thread::sleep_for(std::chrono::nanoseconds(busy ? busy_tick_ns : idle_tick_ns));
  }
}

}  // namespace engine
