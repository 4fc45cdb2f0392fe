#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "fixtures.hpp"
#include "scheduler/mpmc_ring.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/ready_set.hpp"
#include "scheduler/spin_lock.hpp"
#include "test.hpp"

namespace queues_tests {

using namespace engine;
using namespace engine::test;

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

namespace {

/// A plan of nodes without work, ranked by number.
PlanPtr flat(const MachineOwner& machine, std::uint32_t nodes) {
  PlanBuilder builder(machine.get());
  for (std::uint32_t i = 0; i < nodes; ++i)
    builder.add_node({.name = "n", .rank = static_cast<std::int64_t>(i)});
  return builder.build();
}

Task exchanged(ReadyQueue& queue, Run& run, std::span<const std::uint32_t> positions) {
  Task task;
  ReadyQueue::Taker anyone;
  CHECK(queue.exchange(run, positions, task, anyone));
  return task;
}

/// A run that nobody executes.
std::unique_ptr<Run> idle_run(const PlanPtr& plan, int priority, std::int64_t deadline_ns,
                              std::uint64_t arrival) {
  auto run = std::make_unique<Run>(*plan, nullptr);
  run->begin({}, {.deadline_ns = deadline_ns, .priority = priority}, arrival);
  return run;
}

}  // namespace

TEST(ready_set_pops_in_order_whatever_goes_in_meanwhile) {
  std::mt19937 random(static_cast<unsigned>(lanes));
  ReadySet set;
  set.reserve(20'000);
  std::set<std::uint32_t> expected;
  for (int i = 0; i < 50'000; ++i) {
    if (random() % 3 != 0 && expected.size() < 20'000) {
      const std::uint32_t number = random() % 20'000;
      if (expected.insert(number).second) set.insert(number);
    } else if (!expected.empty()) {
      CHECK(set.pop_first() == *expected.begin());
      expected.erase(expected.begin());
    }
    CHECK(set.empty() == expected.empty());
  }
}

TEST(ready_queue_keeps_the_exact_order_of_runs_and_ranks) {
  constexpr std::uint32_t nodes = 300;
  MachineOwner machine(machine_of({cpu(1)}));
  const PlanPtr plan = flat(machine, nodes);
  std::mt19937 random(static_cast<unsigned>(lanes));
  std::vector<std::unique_ptr<Run>> runs;
  for (std::uint64_t i = 0; i < 20; ++i)
    runs.push_back(idle_run(plan, static_cast<int>(random() % 3) - 1,
                            static_cast<std::int64_t>(random() % 3), i));
  ReadyQueue queue(0);
  std::set<std::tuple<RunOrder, std::uint32_t, Run*>> expected;
  const auto pushed = [&](Run& run) {
    std::vector<std::uint32_t> positions;
    for (unsigned k = 1 + random() % 5; k > 0; --k) {
      const std::uint32_t position = random() % nodes;
      if (expected.emplace(run.order(), position, &run).second) positions.push_back(position);
    }
    return positions;
  };
  const auto take_expected = [&](const Task& task) {
    const auto [order, position, run] = *expected.begin();
    expected.erase(expected.begin());
    return task.run == run && task.node == position;
  };
  for (int i = 0; i < 20'000; ++i) {
    Run& run = *runs[random() % runs.size()];
    Task task;
    switch (random() % 3) {
      case 0:
        queue.push(run, pushed(run));
        break;
      case 1:
        if (const auto positions = pushed(run); !positions.empty())
          CHECK(take_expected(exchanged(queue, run, positions)));
        break;
      default:
        CHECK(queue.pop(task) != expected.empty());
        if (task.run != nullptr) CHECK(take_expected(task));
    }
    CHECK(queue.size_approx() == expected.size());
    CHECK(queue.maybe_ready() != expected.empty());
  }
}

TEST(ready_queue_hands_every_node_over_once) {
  constexpr std::uint32_t nodes = 2'000;
  MachineOwner machine(machine_of({cpu(1)}));
  const PlanPtr plan = flat(machine, nodes);
  const auto producers = static_cast<std::uint32_t>(lanes);
  std::vector<std::unique_ptr<Run>> runs;
  for (std::uint32_t i = 0; i < producers; ++i) runs.push_back(idle_run(plan, 0, 0, i));
  ReadyQueue queue(0);
  std::vector<std::atomic<int>> seen(nodes * producers);
  std::atomic<std::uint32_t> left{nodes * producers};
  const auto note = [&](const Task& task) {
    ++seen[task.run->order().arrival * nodes + task.node];
    --left;
  };
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < producers; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < nodes; i += 4) {
        const std::uint32_t positions[] = {i, i + 1, i + 2, i + 3};
        if (i % 8 == 0)
          queue.push(*runs[t], positions);
        else
          note(exchanged(queue, *runs[t], positions));
      }
    });
    threads.emplace_back([&] {
      for (Task task; left.load() > 0;) {
        if (queue.pop(task))
          note(task);
        else
          std::this_thread::yield();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
}

namespace {

/// How often a thread of this process has gone to sleep.
int sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  const std::string key = "voluntary_ctxt_switches:";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoi(line.substr(key.size()));
  return 0;
}

}  // namespace

TEST(who_waits_for_a_spin_lock_for_long_sleeps) {
  SpinLock lock;
  std::atomic<pid_t> waiter{0};
  std::atomic<int> before{-1};
  lock.lock();
  std::thread thread([&] {
    const auto id = static_cast<pid_t>(::syscall(SYS_gettid));
    before = sleeps_of(id);
    waiter = id;
    lock.lock();
    lock.unlock();
  });
  while (waiter == 0) std::this_thread::yield();
  const std::int64_t end_ns = now_ns() + 10'000'000'000;  // only a failing test waits that long
  bool slept = false;
  while (!slept && now_ns() < end_ns) slept = sleeps_of(waiter) > before + 2;
  lock.unlock();
  thread.join();
  CHECK(slept);
}

TEST(a_spin_lock_excludes) {
  SpinLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < lanes; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1'000; ++k) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(count == 1'000 * lanes);
}

}  // namespace queues_tests
