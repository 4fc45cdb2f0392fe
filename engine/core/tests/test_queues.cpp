#include <algorithm>
#include <thread>

#include "mpmc_ring.hpp"
#include "ready_queue.hpp"
#include "test.hpp"

using namespace engine;

TEST(ring_keeps_fifo_order_and_refuses_when_full) {
  MpmcRing<int> ring(4);
  for (int i = 0; i < 4; ++i) CHECK(ring.try_push(i));
  CHECK(!ring.try_push(4));
  for (int item = 0, i = 0; i < 4; ++i) {
    CHECK(ring.try_pop(item));
    CHECK(item == i);
  }
  int item = 0;
  CHECK(!ring.try_pop(item));
}

TEST(ring_hands_every_item_over_once) {
  constexpr int items = 4'000;
  MpmcRing<int> ring(64);
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(items * lanes));
  std::atomic<int> left{items * lanes};
  std::vector<std::thread> threads;
  for (int t = 0; t < lanes; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < items; ++i)
        while (!ring.try_push(t * items + i)) std::this_thread::yield();
    });
    threads.emplace_back([&] {
      while (left.load() > 0) {
        int item = 0;
        if (!ring.try_pop(item)) {
          std::this_thread::yield();
          continue;
        }
        ++seen[static_cast<std::size_t>(item)];
        --left;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
}

TEST(ready_queue_pops_the_most_urgent_class_first_and_fifo_within) {
  ReadyQueue queue;
  for (std::uint32_t i = 0; i < 48; ++i) queue.push({nullptr, i, 15 - i % 16, 0});
  Task task;
  for (std::uint32_t i = 0; i < 48; ++i) {
    CHECK(queue.has_more_urgent(i / 3 + 1));
    CHECK(queue.pop(task));
    CHECK(task.priority_class == i / 3);
    CHECK(task.node == 15 - i / 3 + 16 * (i % 3));
  }
  CHECK(!queue.pop(task));
  CHECK(!queue.maybe_ready());
}

TEST(ready_queue_pops_below_the_limit_only) {
  ReadyQueue queue;
  queue.push({nullptr, 1, 5, 0});
  Task task;
  CHECK(!queue.pop(task, 5));
  CHECK(queue.pop(task, 6));
}

TEST(ready_queue_spills_in_order_and_loses_nothing) {
  ReadyQueue queue(8);
  for (std::uint32_t i = 0; i < 100; ++i) queue.push({nullptr, i, 3, 0});
  CHECK(queue.spilled() == 92);
  CHECK(queue.size_approx() == 100);
  Task task;
  for (std::uint32_t i = 0; i < 100; ++i) {
    CHECK(queue.pop(task));
    CHECK(task.node == i);
  }
  CHECK(!queue.pop(task));
}

TEST(ready_queue_hands_every_task_over_once_while_it_spills) {
  constexpr std::uint32_t tasks = 2'000;
  ReadyQueue queue(16);
  const auto producers = static_cast<std::uint32_t>(lanes);
  std::vector<std::atomic<int>> seen(tasks * producers);
  std::atomic<std::uint32_t> left{tasks * producers};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < producers; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < tasks; ++i) queue.push({nullptr, t * tasks + i, i % 16, 0});
    });
    threads.emplace_back([&] {
      for (Task task; left.load() > 0;) {
        if (!queue.pop(task)) {
          std::this_thread::yield();
          continue;
        }
        ++seen[task.node];
        --left;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
}
