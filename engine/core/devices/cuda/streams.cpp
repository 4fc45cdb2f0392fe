#include "devices/cuda/streams.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace engine::cuda {

Streams::Streams(ApiPtr api, std::uint32_t count)
    : Streams(std::move(api), count, [](std::uint32_t) { return nullptr; }) {}

Streams::Streams(ApiPtr api, std::uint32_t count,
                 const std::function<StreamHandle(std::uint32_t)>& make)
    : api_(std::move(api)), rows_(count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    rows_[i].handle = make(i);
    if (rows_[i].handle == nullptr) api_->stream_create(&rows_[i].handle, stream_non_blocking, 0);
  }
}

Streams::~Streams() {
  for (Row& row : rows_) {
    for (EventHandle event : row.outstanding) api_->event_destroy.code(event);
    if (row.handle != nullptr) api_->stream_destroy.code(row.handle);
  }
  for (EventHandle event : idle_events_) api_->event_destroy.code(event);
}

EventHandle Streams::take_event() {
  EventHandle event = nullptr;
  if (idle_events_.empty()) {
    api_->event_create(&event, event_without_timing);
  } else {
    event = idle_events_.back();
    idle_events_.pop_back();
  }
  return event;
}

Stamp Streams::record(std::uint32_t stream) {
  Row& row = rows_[stream];
  const EventHandle event = take_event();
  if (const int code = api_->event_record.code(event, row.handle); code != 0) {
    idle_events_.push_back(event);
    throw api_->library().error(code, "cudaEventRecord");
  }
  const std::lock_guard lock(mutex_);
  row.outstanding.push_back(event);
  // release: see recorded()
  return {stream, row.recorded.fetch_add(1, std::memory_order_release) + 1};
}

void Streams::wait(std::uint32_t stream, Stamp stamp) {
  if (is_behind(stream, stamp)) return;
  Row& other = rows_[stamp.stream];
  if (!is_recorded(stamp))
    throw std::logic_error("a wait for what stream " + std::to_string(stamp.stream) +
                           " has not recorded yet");
  const std::lock_guard lock(mutex_);
  const std::uint64_t passed_before = passed(stamp.stream);
  if (stamp.position <= passed_before) return;
  api_->stream_wait_event(rows_[stream].handle,
                          other.outstanding[stamp.position - passed_before - 1], 0);
  rows_[stream].waited[stamp.stream] = stamp.position;
}

void Streams::wait(std::uint32_t stream, const Uses& uses) {
  for (std::uint32_t other = 0; other < count(); ++other) wait(stream, Stamp{other, uses[other]});
}

bool Streams::is_idle() const noexcept {
  for (std::uint32_t stream = 0; stream < count(); ++stream)
    if (passed(stream) != recorded(stream)) return false;
  return true;
}

bool Streams::is_idle_beside(std::uint32_t stream, std::uint32_t end) const noexcept {
  for (std::uint32_t other = 0; other < end; ++other)
    if (other != stream &&
        (passed(other) != recorded(other) ||
         rows_[other].launching.load(std::memory_order_relaxed)))  // relaxed: advice
      return false;
  return true;
}

void Streams::settle() {
  while (!is_idle())
    if (!poll()) std::this_thread::yield();
}

bool Streams::poll() {
  bool moved = false;
  for (Row& row : rows_) {
    while (!row.outstanding.empty()) {  // changed by this thread alone
      const EventHandle event = row.outstanding.front();
      const int code = api_->event_query.code(event);
      if (code == not_ready || is_of_a_capture(code)) break;  // look again
      if (code != 0) throw api_->library().error(code, "cudaEventQuery");
      const std::lock_guard lock(mutex_);
      row.outstanding.pop_front();
      row.passed.fetch_add(1, std::memory_order_release);  // release: see passed()
      idle_events_.push_back(event);
      moved = true;
    }
  }
  return moved;
}

}  // namespace engine::cuda
