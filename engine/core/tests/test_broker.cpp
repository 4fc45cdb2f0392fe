// Leases of several processes, and whose turn it is.
#include "broker/broker.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

#include "broker_fixtures.hpp"
#include "fixtures.hpp"
#include "scheduler/cores.hpp"

namespace broker_tests {

using namespace engine;
using namespace engine::broker;
using namespace engine::test;

namespace {

/// Brokers of one file, as of so many processes.
struct Brokers {
  Brokers() {
    first.join(folder.file(), "first");
    second.join(folder.file(), "second");
  }
  /// Leases all cores, for what is due so long from now.
  void take_all(Broker& broker, std::int64_t due_in_ns) {
    for (int i = 0; i < available_cores(); ++i) {
      rows.push_back(broker.take_row());
      CHECK(broker.begin(rows.back(), claim(due_in_ns), at_once).beside == -1);
    }
  }
  [[nodiscard]] std::size_t waiting() {
    return static_cast<std::size_t>(
        std::ranges::count_if(first.list(), [](const Listed& lease) { return !lease.computes; }));
  }

  BrokerFolder folder;
  Broker first, second;
  std::vector<int> rows;
};

}  // namespace

TEST(who_is_alone_shares_nothing) {
  const BrokerFolder folder;
  Broker broker;
  CHECK(!broker.has_joined() && !broker.is_shared());
  broker.join(folder.file(), "one");
  CHECK(broker.has_joined() && !broker.is_shared() && broker.leased_elsewhere() == 0);
  {
    Broker other;
    other.join(folder.file(), "other");
    CHECK(broker.is_shared() && other.is_shared());
  }
  CHECK(!broker.is_shared());
}

TEST(leases_are_seen_by_all) {
  Brokers of;
  const int row = of.first.take_row();
  const std::int64_t before_ns = now_ns();
  CHECK(of.first.begin(row, claim(second_ns), never).beside == -1);
  CHECK(of.second.leased_elsewhere() == 1 && of.first.leased_elsewhere() == 0);
  const std::vector<Listed> found = of.second.list();
  CHECK(found.size() == 1);
  CHECK(found[0].name == "first" && found[0].what == "claimed" && found[0].process == getpid());
  CHECK(found[0].is_in_our_space && found[0].computes);
  CHECK(found[0].since_ns >= before_ns && found[0].end_ns >= found[0].since_ns + second_ns);
  of.first.end(row);
  of.first.end(row);  // has no effect
  CHECK(of.second.list().empty() && of.second.leased_elsewhere() == 0);
}

TEST(what_is_less_urgent_waits_until_a_lease_ends) {
  Brokers of;
  of.take_all(of.first, second_ns);
  std::atomic<bool> began{false};
  std::thread later([&] {
    const int row = of.second.take_row();
    CHECK(of.second.begin(row, claim(3'600 * second_ns), never).beside == -1);
    began = true;
    of.second.end(row);
  });
  CHECK(holds([&] { return of.waiting() == 1 || began; }));
  CHECK(!began);
  of.first.end(of.rows.front());
  later.join();
  CHECK(began);
}

TEST(nobody_waits_longer_than_the_bound) {
  Brokers of;
  of.take_all(of.first, second_ns);
  const int row = of.second.take_row();
  const std::int64_t before_ns = now_ns();
  static_cast<void>(of.second.begin(row, claim(3'600 * second_ns), never));  // nothing ends
  CHECK(now_ns() - before_ns >= Broker::news_ns);
  CHECK(of.waiting() == 0);
}

TEST(what_is_given_up_does_not_wait) {
  Brokers of;
  of.take_all(of.first, second_ns);
  const int row = of.second.take_row();
  CHECK(of.second.begin(row, claim(3'600 * second_ns), at_once).beside == -1);
  Claim unwaiting = claim(3'600 * second_ns);
  unwaiting.waits = false;
  CHECK(of.second.begin(of.second.take_row(), unwaiting, never).beside == -1);
  CHECK(of.waiting() == 0);
}

TEST(what_cannot_afford_to_wait_begins_beside_the_least_urgent) {
  Brokers of;
  of.take_all(of.first, 3'600 * second_ns);
  const int row = of.second.take_row();
  CHECK(of.second.begin(row, claim(2 * second_ns), at_once).beside >= 0);  // these end in a second
  CHECK(of.waiting() == 0);
  of.second.end(row);
  CHECK(of.second.begin(row, claim(60 * second_ns), at_once).beside ==
        -1);  // it waits, and gives up
  of.second.end(row);
  Claim prior = claim(0);
  prior.order = RunOrder::of(1, false, 0, 0);
  CHECK(of.second.begin(row, prior, at_once).beside >= 0);  // of a higher priority
}

TEST(no_more_begin_beside_others_than_there_are_cores) {
  Brokers of;
  of.take_all(of.first, 3'600 * second_ns);
  for (int i = 0; i < available_cores(); ++i)
    CHECK(of.second.begin(of.second.take_row(), claim(second_ns), at_once).beside >= 0);
  CHECK(of.second.begin(of.second.take_row(), claim(2 * second_ns), at_once).beside == -1);
}

TEST(of_those_that_wait_the_most_urgent_goes_first) {
  Brokers of;
  of.take_all(of.first, second_ns);
  std::atomic<int> begun{0}, place_of_later{-1}, place_of_sooner{-1};
  const auto wait = [&](Broker& broker, int due_in_s, std::atomic<int>& place) {
    const int row = broker.take_row();
    static_cast<void>(broker.begin(row, claim(due_in_s * second_ns), never));
    place = begun++;
    broker.end(row);
  };
  std::thread later([&] { wait(of.first, 7'200, place_of_later); });
  CHECK(holds([&] { return of.waiting() == 1 || begun != 0; }));
  std::thread sooner([&] { wait(of.second, 3'600, place_of_sooner); });
  CHECK(holds([&] { return of.waiting() == 2 || begun != 0; }));
  of.first.end(of.rows.front());
  later.join();
  sooner.join();
  CHECK(place_of_sooner == 0 && place_of_later == 1);
}

TEST(virtual_times_of_a_process_mean_nothing_to_another) {
  Brokers of;
  Claim shared = claim(0);
  shared.order = RunOrder::of(0, false, 0, 0, 77);
  const int row = of.first.take_row();
  CHECK(of.first.begin(row, shared, never).beside == -1);
  CHECK(of.second.list().at(0).order.due_ns == RunOrder::never);
}

TEST(equals_go_by_arrival_and_share_after_their_own_time) {
  Brokers of;
  of.take_all(of.first, 0);
  const int row = of.second.take_row();
  const std::int64_t before_ns = now_ns();
  static_cast<void>(of.second.begin(row, claim(0, 3'000'000), never));
  CHECK(now_ns() - before_ns >= 3'000'000);
  CHECK(of.waiting() == 0);
}

TEST(a_late_claim_gives_way_to_one_that_may_be_in_time) {
  Brokers of;
  of.take_all(of.first, 3'600 * second_ns);
  bool was_late = false;
  const auto look = [&] {
    const std::vector<Listed> found = of.first.list();
    was_late = was_late || std::ranges::any_of(found, [](const Listed& lease) {
                 return !lease.computes && lease.order.is_due() && !lease.order.may_be_late();
               });
    return was_late;
  };
  static_cast<void>(of.second.begin(of.second.take_row(), claim(1), look));
  static_cast<void>(look());
  CHECK(was_late);
}

TEST(best_effort_counts_for_nobody) {
  Brokers of;
  Claim last = claim(0);
  last.order = RunOrder::of(0, true, 0, 0);
  const int row = of.first.take_row();
  CHECK(of.first.begin(row, last, never).beside == -1);
  CHECK(of.second.leased_elsewhere() == 1);  // nobody spins on its core
  CHECK(of.second.begin(of.second.take_row(), claim(0), never).beside == -1);
  of.second.end(0);
  of.first.end(row);
  of.take_all(of.second, second_ns);
  CHECK(of.first.begin(row, last, never).beside == -1);  // the kernel weighs it
  of.first.end(row);
  CHECK(of.second.leased_elsewhere() == 0);
}

TEST(the_leases_of_who_is_killed_are_freed) {
  Brokers of;
  Child child([&] {
    auto* const its = new Broker;
    its->join(of.folder.file(), "child");
    for (int i = 0; i < available_cores(); ++i)
      static_cast<void>(its->begin(its->take_row(), claim(second_ns), at_once));
  });
  CHECK(of.first.list().size() == static_cast<std::size_t>(available_cores()));
  std::atomic<bool> began{false};
  std::thread waiting([&] {
    const int row = of.second.take_row();
    static_cast<void>(of.second.begin(row, claim(3'600 * second_ns), never));
    began = true;
    of.second.end(row);
  });
  CHECK(holds([&] { return of.waiting() == 1 || began; }));
  child.kill();
  waiting.join();
  CHECK(began);
  CHECK(of.first.list().empty());
  CHECK(of.second.is_shared());  // with the first
}

TEST(a_forked_child_is_in_none_and_may_join) {
  Brokers of;
  const int row = of.first.take_row();
  CHECK(of.first.begin(row, claim(second_ns), never).beside == -1);
  Child child([&] {
    Broker& own = Broker::of_process();
    if (own.has_joined()) _exit(1);
    own.join(of.folder.file(), "child");
    if (!own.is_shared() || own.list().size() != 1) _exit(1);
  });
  of.first.end(row);
  child.kill();
  CHECK(of.first.sweep() == 1);
  CHECK(of.first.sweep() == 0);
}

TEST(there_is_no_place_for_more_processes_than_slots) {
  const BrokerFolder folder;
  std::vector<std::unique_ptr<Broker>> all;
  for (int i = 0; i < slot_count; ++i) {
    all.push_back(std::make_unique<Broker>());
    all.back()->join(folder.file(), "one of many");
  }
  Broker last;
  const std::string why = failure_of([&] { last.join(folder.file(), "last"); });
  CHECK(why.find("has no place for more than 64 processes") != std::string::npos);
  CHECK(!last.has_joined() && last.take_row() == 0 && last.begin(0, claim(1), never).beside == -1);
  all.pop_back();
  last.join(folder.file(), "last");
  CHECK(last.is_shared());
}

TEST(there_are_so_many_rows_and_no_more) {
  const BrokerFolder folder;
  Broker broker;
  broker.join(folder.file(), "one");
  for (int i = 0; i < row_count; ++i) CHECK(broker.take_row() >= 0);
  CHECK(broker.take_row() == -1);
  CHECK(broker.begin(-1, claim(1), never).beside == -1);
  broker.end(-1);
  broker.give_back_row(7);
  CHECK(broker.take_row() == 7);
}

TEST(who_was_asked_is_told_to_the_others) {
  Brokers of;
  CHECK(of.first.asked_elsewhere() == 0);
  of.second.note_asked(77);
  CHECK(of.first.asked_elsewhere() == 77 && of.second.asked_elsewhere() == 0);
  of.second.expect_asked();
  CHECK(of.first.asked_elsewhere() == 77);  // one came
  of.first.expect_asked();
  CHECK(of.second.asked_elsewhere() == may_be_asked);
  Broker alone;
  alone.expect_asked();
  CHECK(alone.asked_elsewhere() == 0);
}

TEST(a_table_full_of_anything_harms_nobody) {
  Brokers of;
  std::mt19937_64 random(static_cast<unsigned>(lanes));
  TableFile file(of.folder.file());
  auto* const words = reinterpret_cast<std::uint64_t*>(&file.table());
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = offsetof(Table, live) / 8; i < sizeof(Table) / 8; ++i)
      std::atomic_ref(words[i]).store(round == 0 ? ~std::uint64_t{0} : random(),
                                      std::memory_order_relaxed);  // anything
    const int row = of.first.take_row();
    static_cast<void>(of.first.begin(row, claim(second_ns), never));
    static_cast<void>(of.first.leased_elsewhere());
    static_cast<void>(of.first.asked_elsewhere());
    for (const Listed& lease : of.first.list()) CHECK(lease.name.size() < 33);
    of.first.end(row);
    of.first.give_back_row(row);
  }
}

TEST(leases_under_load_end_all) {
  Brokers of;
  std::vector<std::thread> threads;
  for (int t = 0; t < lanes; ++t)
    threads.emplace_back([&, t] {
      Broker& broker = t % 2 == 0 ? of.first : of.second;
      const int row = broker.take_row();
      for (int i = 0; i < 200; ++i) {
        Claim next = claim(i % 3 == 0 ? 0 : (t + 1) * 1'000'000, 100'000);
        next.width = 1 + i % 2;
        static_cast<void>(broker.begin(row, next, never));
        broker.end(row);
      }
      broker.give_back_row(row);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(of.first.leased_elsewhere() == 0 && of.second.leased_elsewhere() == 0);
  CHECK(of.first.list().empty());
}

}  // namespace broker_tests
