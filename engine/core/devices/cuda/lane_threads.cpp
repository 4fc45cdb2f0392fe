#include "devices/cuda/lane_threads.hpp"

#include <sys/prctl.h>

#include <exception>
#include <system_error>
#include <utility>

#include "devices/cuda/captures.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/machine.hpp"

namespace engine::cuda {

LaneThreads::LaneThreads(Machine& machine, EventCount& news, std::uint32_t lanes)
    : machine_(machine), news_(news), count_(lanes), lanes_(std::make_unique<Lane[]>(lanes)) {}

void LaneThreads::open(ApiPtr api, int ordinal, bool wanted) {
  api_ = std::move(api);
  ordinal_ = ordinal;
  wanted_ = wanted && count_ > 1;
}

void LaneThreads::post(std::uint32_t index, const Job& job) {
  Lane& lane = lanes_[index];
  try {
    if (!lane.thread.joinable()) lane.thread = std::thread([this, &lane] { work(lane); });
  } catch (const std::system_error&) {  // there are no more threads
    job();
    lane.state.store(ended, std::memory_order_relaxed);  // relaxed: read by this thread
    return;
  }
  lane.job = &job;
  lane.state.store(given, std::memory_order_seq_cst);  // seq_cst: before we look for the sleeper
  lane.wanted.notify(1);
}

bool LaneThreads::take_ended(std::uint32_t index) noexcept {
  if (!has_ended(index)) return false;
  // relaxed: the lane's thread waits for another one
  lanes_[index].state.store(idle, std::memory_order_relaxed);
  return true;
}

void LaneThreads::await(std::uint32_t index) noexcept {
  while (!has_ended(index)) {
    const EventCount::Key key = news_.prepare();
    if (has_ended(index))
      news_.cancel();
    else
      news_.wait(key);
  }
}

void LaneThreads::call(std::uint32_t lane, const Job& job) {
  if (!wanted_) return job();
  std::exception_ptr failure;
  const Job caught = [&] {
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  post(lane, caught);
  await(lane);
  static_cast<void>(take_ended(lane));
  if (failure != nullptr) std::rethrow_exception(std::exchange(failure, nullptr));
}

void LaneThreads::stop() noexcept {
  stopping_.store(true, std::memory_order_seq_cst);  // seq_cst: before we look for sleepers
  for (std::uint32_t i = 0; i < count_; ++i) {
    lanes_[i].wanted.notify_all();
    if (lanes_[i].thread.joinable()) lanes_[i].thread.join();
  }
}

void LaneThreads::work(Lane& lane) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // as the device's own thread
  // Codes and no exceptions: what is wrong with the GPU the first call of a job says.
  api_->set_device.code(ordinal_);
  int mode = capture_thread_local;  // as ignore_captures_of_others()
  api_->exchange_capture_mode.code(&mode);
  const auto has_news = [&] {
    return lane.state.load(std::memory_order_seq_cst) == given ||  // seq_cst: before parking, both
           stopping_.load(std::memory_order_seq_cst);
  };
  while (true) {
    const std::int64_t since_ns = now_ns();
    if (!has_news() && !machine_.spin_until(lane.habit, has_news)) {
      const EventCount::Key key = lane.wanted.prepare();
      if (has_news()) {
        lane.wanted.cancel();
      } else {
        lane.wanted.wait(key);
        machine_.waited(lane.habit, since_ns);
      }
    }
    if (lane.state.load(std::memory_order_acquire) == given) {  // acquire: of what post() wrote
      machine_.budget().add_running(1);
      (*lane.job)();
      machine_.budget().remove_running(1);
      // seq_cst: what the job did is seen; before we look for the sleeper
      lane.state.store(ended, std::memory_order_seq_cst);
      news_.notify(1);
    } else if (stopping_.load(std::memory_order_relaxed)) {  // relaxed: has_news() saw it
      return;
    }
  }
}

}  // namespace engine::cuda
