#include "scheduler/flight_recorder.hpp"

#include <algorithm>
#include <utility>

namespace engine {

namespace {

constexpr std::size_t most_gone = 64, most_processes = 256;

}  // namespace

std::int64_t FlightRecorder::on_since_ns() noexcept {
  return is_on() ? on_since_ns_.load(std::memory_order_relaxed) : 0;  // relaxed: as is_on()
}

void FlightRecorder::ask_until(std::int64_t until_ns) noexcept {
  if (!is_on()) on_since_ns_.store(now_ns(), std::memory_order_relaxed);  // relaxed: as is_on()
  std::int64_t before_ns = until_ns_.load(std::memory_order_relaxed);     // relaxed: CAS below
  // relaxed: nothing else is read by it
  while (before_ns < until_ns &&
         !until_ns_.compare_exchange_weak(before_ns, until_ns, std::memory_order_relaxed)) {
  }
}

void FlightRecorder::hold() noexcept {
  if (!is_on()) on_since_ns_.store(now_ns(), std::memory_order_relaxed);  // relaxed: as is_on()
  holders_.fetch_add(1, std::memory_order_relaxed);                       // relaxed: as is_on()
}

void FlightRecorder::let_go() noexcept {
  holders_.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as is_on()
}

/// Who finds that nobody asks any more spares the others a read of the clock.
bool FlightRecorder::is_before(std::int64_t until_ns) noexcept {
  if (now_ns() < until_ns) return true;
  until_ns_.compare_exchange_strong(until_ns, 0, std::memory_order_relaxed);  // relaxed: as is_on()
  return false;
}

NodeRing& FlightRecorder::add_ring(std::uint32_t executor, RingKind kind, int lane) {
  const std::size_t records = kind == RingKind::borrowed ? borrowed_records : lane_records;
  std::unique_ptr<Ring> ring(new Ring{executor, kind, lane, NodeRing(records)});
  const std::lock_guard lock(rings_mutex_);
  rings_.push_back(std::move(ring));
  return rings_.back()->records;
}

void FlightRecorder::add_executor() {
  own_.push_back(&add_ring(static_cast<std::uint32_t>(own_.size()), RingKind::lane, -1));
}

std::int64_t FlightRecorder::number_of(const std::string& process) {
  const std::lock_guard lock(processes_mutex_);
  const auto found = std::ranges::find(processes_, process);
  const auto number = found - processes_.begin();
  if (found != processes_.end()) return number;
  if (processes_.size() == most_processes) return 0;
  processes_.push_back(process);
  return number;
}

std::vector<std::string> FlightRecorder::processes() const {
  const std::lock_guard lock(processes_mutex_);
  return processes_;
}

void FlightRecorder::bury(GonePlan plan) {
  const std::lock_guard lock(gone_mutex_);
  gone_.push_back(std::move(plan));
  if (gone_.size() > most_gone) gone_.pop_front();
}

std::vector<GonePlan> FlightRecorder::gone() const {
  const std::lock_guard lock(gone_mutex_);
  return {gone_.begin(), gone_.end()};
}

}  // namespace engine
