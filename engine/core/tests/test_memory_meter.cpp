// Counts of many threads: what a memory holds, exactly, and its limit.
#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "fixtures.hpp"
#include "scheduler/memory_meter.hpp"
#include "scheduler/thread_counts.hpp"
#include "test.hpp"

namespace memory_meter_tests {

using namespace engine;
using namespace engine::test;

namespace {

template <typename Function>
void on_threads(int count, Function&& function) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&function, i] { function(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST(living_threads_have_numbers_of_their_own) {
  std::mutex mutex;
  std::multiset<std::uint32_t> found;
  std::barrier all(lanes);
  on_threads(lanes, [&](int) {
    const std::uint32_t slot = thread_slot();
    all.arrive_and_wait();
    const std::lock_guard lock(mutex);
    found.insert(slot);
    if (slot != thread_slot()) found.insert(slot);
  });
  CHECK(found.size() == static_cast<std::size_t>(lanes));
  CHECK(std::set(found.begin(), found.end()).size() == found.size());
  CHECK(*found.rbegin() < thread_slots);
}

TEST(threads_that_end_leave_their_numbers_to_others) {
  std::atomic<bool> all_have{true};
  for (std::uint32_t i = 0; i < 2 * thread_slots; i += 16)
    on_threads(16, [&](int) {
      if (thread_slot() == thread_slots) all_have = false;
    });
  CHECK(all_have);
}

TEST(counts_are_exact_beyond_the_number_of_slots) {
  if (lanes != 16) return;
  constexpr int too_many = thread_slots + 20;
  const auto counts = std::make_unique<ThreadCounts<1>>();
  std::atomic<int> sharing{0};
  std::barrier all(too_many);
  on_threads(too_many, [&](int) {
    if (thread_slot() == thread_slots) ++sharing;
    all.arrive_and_wait();  // so that all live at once
    for (int i = 0; i < 100; ++i) counts->add(0, 3);
  });
  CHECK(sharing >= 20);
  CHECK(counts->sum(0) == 300 * too_many);
}

TEST(values_that_other_threads_let_go_leave_nothing) {
  MemoryMeter meter;
  std::barrier all(lanes);
  on_threads(lanes, [&](int thread) {
    for (std::size_t i = 0; i < 1'000; ++i)
      static_cast<void>(meter.try_add(i + static_cast<std::size_t>(thread)));
    all.arrive_and_wait();
    const auto other = static_cast<std::size_t>((thread + 1) % lanes);
    for (std::size_t i = 0; i < 999; ++i) meter.remove(i + other);
  });
  CHECK(meter.values() == lanes);
  CHECK(meter.bytes() == static_cast<std::size_t>(999 * lanes + lanes * (lanes - 1) / 2));
}

TEST(a_memory_of_many_threads_is_filled_to_its_limit_and_no_further) {
  constexpr std::size_t limit_bytes = 10'007, value_bytes = 10;
  MemoryMeter meter(limit_bytes);
  std::atomic<int> held{0};
  std::atomic<bool> exceeded{false};
  on_threads(lanes, [&](int) {
    for (int i = 0; i < 2'000; ++i) {
      if (meter.try_add(limit_bytes + 1)) exceeded = true;  // must not get in the others' way
      if (meter.try_add(value_bytes)) ++held;
      if (meter.bytes() > limit_bytes) exceeded = true;
    }
  });
  CHECK(!exceeded);
  CHECK(held == 1'000);
  CHECK(meter.values() == 1'000);
  for (int i = 0; i < 1'000; ++i) meter.remove(value_bytes);
  CHECK(meter.bytes() == 0);
}

}  // namespace memory_meter_tests
