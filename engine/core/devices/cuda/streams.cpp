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
  row.outstanding.push_back(take_event());
  ++row.recorded;
  api_->event_record(row.outstanding.back(), row.handle);
  return {stream, row.recorded};
}

void Streams::wait(std::uint32_t stream, Stamp stamp) {
  if (is_behind(stream, stamp)) return;
  if (stamp.position > rows_[stamp.stream].recorded)
    throw std::logic_error("a wait for what stream " + std::to_string(stamp.stream) +
                           " has not recorded yet");
  const std::uint64_t index = stamp.position - passed(stamp.stream) - 1;
  api_->stream_wait_event(rows_[stream].handle, rows_[stamp.stream].outstanding[index], 0);
  rows_[stream].waited[stamp.stream] = stamp.position;
}

void Streams::wait(std::uint32_t stream, const Uses& uses) {
  for (std::uint32_t other = 0; other < count(); ++other) wait(stream, Stamp{other, uses[other]});
}

bool Streams::is_idle() const noexcept {
  return std::ranges::all_of(rows_, [](const Row& row) { return row.outstanding.empty(); });
}

bool Streams::is_idle_beside(std::uint32_t stream, std::uint32_t end) const noexcept {
  for (std::uint32_t other = 0; other < end; ++other)
    if (other != stream && !rows_[other].outstanding.empty()) return false;
  return true;
}

void Streams::settle() {
  while (!is_idle())
    if (!poll()) std::this_thread::yield();
}

bool Streams::poll() {
  bool moved = false;
  for (Row& row : rows_) {
    while (!row.outstanding.empty()) {
      const int code = api_->event_query.code(row.outstanding.front());
      if (code == not_ready || is_of_a_capture(code)) break;  // look again
      if (code != 0) throw api_->library().error(code, "cudaEventQuery");
      idle_events_.push_back(row.outstanding.front());
      row.outstanding.pop_front();
      moved = true;
    }
  }
  return moved;
}

}  // namespace engine::cuda
