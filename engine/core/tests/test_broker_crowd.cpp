// Processes that come and go at any moment while others compute.
#include <algorithm>
#include <bit>
#include <thread>

#include "broker_fixtures.hpp"
#include "fixtures.hpp"
#include "scheduler/cores.hpp"

namespace broker_crowd_tests {

using namespace engine;
using namespace engine::broker;
using namespace engine::test;

namespace {

void compute(std::uint64_t ns) {
  for (const std::int64_t end_ns = now_ns() + static_cast<std::int64_t>(ns); now_ns() < end_ns;) {
  }
}

Claim any_claim(std::mt19937_64& random) {
  const auto due_in_ns = static_cast<std::int64_t>(random() % 20) * 1'000'000;
  Claim made = claim(due_in_ns, 200'000);
  made.width = 1 + static_cast<int>(random() % 2);
  return made;
}

/// What a process does: leases, leaves, joins again, and ends or hangs wherever it happens to be.
[[noreturn]] void live(const std::string& file, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto* const broker = new Broker;
  broker->join(file, "child");
  const int row = broker->take_row();
  for (auto i = random() % 30; i > 0; --i) {
    static_cast<void>(broker->begin(row, any_claim(random), never));
    compute(random() % 200'000);
    if (random() % 40 == 0) _exit(0);
    if (random() % 40 == 0)
      for (;;) ::pause();
    broker->end(row);
    if (random() % 8 != 0) continue;
    broker->leave();
    broker->join(file, "child, again");
  }
  if (random() % 2 == 0) broker->leave();
  _exit(0);
}

/// How many slots of the file processes have, as is seen without looking for the dead.
int live_slots(const TableFile& file) {
  return std::popcount(file.table().live.load(std::memory_order_relaxed));  // relaxed: polled
}

}  // namespace

TEST(who_waits_finds_the_dead) {
  const BrokerFolder folder;
  Broker broker;
  broker.join(folder.file(), "own");
  Child child([&] {
    auto* const its = new Broker;
    its->join(folder.file(), "child");
    for (int i = 0; i < available_cores(); ++i)
      static_cast<void>(its->begin(its->take_row(), claim(second_ns), at_once));
  });
  const TableFile file(folder.file());
  CHECK(broker.sweep() == 0);  // so that the next is due in a second
  child.kill();
  CHECK(live_slots(file) == 2);
  const Turn turn = broker.begin(broker.take_row(), claim(3'600 * second_ns), never);
  CHECK(live_slots(file) == 1);
  CHECK(turn.beside == -1);
}

TEST(processes_that_come_and_go_leave_nothing_behind) {
  const BrokerFolder folder;
  Broker broker;
  broker.join(folder.file(), "own");
  std::atomic<bool> ends{false};
  std::atomic<int> begun{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      const int row = broker.take_row();
      while (!ends) {
        static_cast<void>(broker.begin(row, any_claim(random), never));
        ++begun;
        compute(random() % 100'000);
        broker.end(row);
      }
      broker.give_back_row(row);
    });
  std::mt19937_64 random(static_cast<std::uint64_t>(lanes));
  std::vector<pid_t> children;
  const auto end_one = [&](std::size_t which) {
    ::kill(children[which], SIGKILL);
    ::waitpid(children[which], nullptr, 0);
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(which));
  };
  for (int i = 0; i < 12; ++i) {
    const std::uint64_t seed = random();
    const pid_t child = ::fork();
    if (child == 0) live(folder.file(), seed);
    children.push_back(child);
    compute(random() % 3'000'000);
    if (random() % 3 == 0) end_one(random() % children.size());
  }
  while (!children.empty()) end_one(children.size() - 1);
  const int before = begun;
  CHECK(holds([&] { return begun > before + 4; }));  // nobody is in their way any more
  ends = true;
  for (std::thread& thread : threads) thread.join();
  static_cast<void>(broker.sweep());
  CHECK(!broker.is_shared() && broker.leased_elsewhere() == 0 && broker.list().empty());
}

}  // namespace broker_crowd_tests
