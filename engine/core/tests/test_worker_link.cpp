#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "frontend/frontend.hpp"
#include "isolation/shared_blocks.hpp"
#include "isolation/worker_link.hpp"
#include "test.hpp"

namespace worker_link_tests {

using namespace engine;
using isolation::SharedBlocks;
using isolation::SharedPages;
using isolation::WorkerLink;

namespace {

constexpr std::size_t link_bytes = 8U << 20;
constexpr int patience_ms = 30'000;  // only a hang reaches it

isolation::Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// What was answered, and what keeps it.
class Answers final : public isolation::AnswerSink {
 public:
  struct One {
    std::uint64_t number;
    int status;
    std::string content;
    std::shared_ptr<const void> owner;
  };
  void on_answer(std::uint64_t number, const isolation::WorkerAnswer& answer) override {
    all.push_back({number,
                   answer.status,
                   {reinterpret_cast<const char*>(answer.content.data()), answer.content.size()},
                   answer.owner});
  }
  std::vector<One> all;
};

bool readable(int fd) {
  pollfd asked{fd, POLLIN, 0};
  return poll(&asked, 1, patience_ms) == 1;
}

/// A server's end, and a front end at the worker's whose Python is the test.
struct Pair {
  Pair() {
    const isolation::WorkerEnds ends = link->take_ends();
    frontend::FrontendParams params;
    params.regions = std::make_shared<Regions>();
    params.server = ends;
    worker = std::make_unique<frontend::Frontend>(params);
    close(ends.requests);
    close(ends.answers);
  }
  WorkerLink::Sent submit(const std::string& content, std::uint64_t number) {
    return link->submit(bytes_of(content), 0, answers, number, tag);
  }
  /// The next query that came for Python: its token and content.
  std::pair<std::uint64_t, std::string> asked() {
    std::pair<std::uint64_t, std::string> found;
    for (bool is_over = false; !is_over;) {
      CHECK(readable(worker->events().fd()));
      for (frontend::Event& event : worker->events().take(64)) {
        found.first = event.token;
        if (event.kind == frontend::Event::message)
          found.second = std::string(frontend::text_of(event.content.content()));
        is_over = event.kind == frontend::Event::end || event.kind == frontend::Event::gone;
        last = event.kind;
      }
    }
    return found;
  }
  void reply(std::uint64_t token, const std::string& content) {
    worker->reply({.kind = frontend::Reply::message, .token = token, .content = content});
    worker->reply({.kind = frontend::Reply::end, .token = token});
  }
  /// Pumps until so many were answered.
  void await_answers(std::size_t count) {
    while (answers->all.size() < count) {
      CHECK(readable(link->fd()));
      if (!link->pump()) break;
    }
    CHECK(answers->all.size() == count);
  }

  std::shared_ptr<WorkerLink> link = WorkerLink::made(link_bytes);
  std::shared_ptr<Answers> answers = std::make_shared<Answers>();
  std::unique_ptr<frontend::Frontend> worker;
  std::uint64_t tag = 0;
  frontend::Event::Kind last = frontend::Event::call;
};

}  // namespace

TEST(blocks_are_taken_where_there_is_room_first) {
  const int memory = SharedPages::made(16 * 4096);
  SharedPages pages(memory, true);
  close(memory);
  SharedBlocks blocks(pages);
  CHECK(blocks.take(5000) == 0U && blocks.take(1) == 2U * 4096 && blocks.take(4096) == 3U * 4096);
  CHECK(blocks.taken_bytes() == 4 * 4096);
  CHECK(!blocks.take(13 * 4096));
  CHECK(blocks.take(12 * 4096) == 4U * 4096 && !blocks.take(1));
  blocks.give(2 * 4096);
  blocks.give(2 * 4096);  // again: nothing
  blocks.give(77);
  CHECK(!blocks.take(2 * 4096) && blocks.take(4096) == 2U * 4096);
  CHECK(pages.holds(0, 16 * 4096) && !pages.holds(1, 16 * 4096) && !pages.holds(UINT64_MAX, 2));
}

TEST(memory_of_a_worker_cannot_shrink) {
  const int memory = SharedPages::made(4096);
  CHECK(ftruncate(memory, 0) != 0);
  close(memory);
}

TEST(a_query_goes_to_the_worker_and_its_answer_back) {
  Pair pair;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, isolation::most_inline_bytes,
                                  isolation::most_inline_bytes + 1, std::size_t{3} << 20}) {
    const std::string content(bytes, 'q'), answer(bytes, 'a');
    const std::size_t before = pair.answers->all.size();
    CHECK(pair.submit(content, bytes + 7) == WorkerLink::Sent::yes);
    const auto [token, came] = pair.asked();
    CHECK(came == content);
    pair.reply(token, answer);
    pair.await_answers(before + 1);
    const Answers::One& one = pair.answers->all.back();
    CHECK(one.number == bytes + 7 && one.status == 0 && one.content == answer);
  }
  CHECK(pair.link->in_flight() == 0);
}

TEST(blocks_are_used_again_once_nobody_reads_them) {
  Pair pair;
  const std::string large(3U << 20, 'x');  // two have room, three have not
  for (std::size_t round = 1; round <= 8; ++round) {
    CHECK(pair.submit(large, round) == WorkerLink::Sent::yes);
    pair.reply(pair.asked().first, large);
    pair.await_answers(round);
    pair.answers->all.back().owner = nullptr;
  }
}

TEST(an_answer_without_room_says_so) {
  Pair pair;
  const std::string large(3U << 20, 'x');
  for (std::size_t round = 1; round <= 3; ++round) {
    CHECK(pair.submit("q", round) == WorkerLink::Sent::yes);
    pair.reply(pair.asked().first, large);
    pair.await_answers(round);
  }
  CHECK(pair.answers->all[1].status == 0 && pair.answers->all[2].status == 8);
  CHECK(pair.answers->all[2].content.find("has no room") != std::string::npos);
}

TEST(a_query_without_room_is_not_sent) {
  Pair pair;
  const std::string large(3U << 20, 'x');
  CHECK(pair.submit(large, 1) == WorkerLink::Sent::yes);
  CHECK(pair.submit(large, 2) == WorkerLink::Sent::yes);
  CHECK(pair.submit(large, 3) == WorkerLink::Sent::no_room);
  CHECK(pair.link->in_flight() == 2);
}

TEST(a_cancelled_query_is_gone_at_both_ends) {
  Pair pair;
  CHECK(pair.submit(std::string(100'000, 'q'), 1) == WorkerLink::Sent::yes);
  pair.asked();
  pair.link->cancel(pair.tag);
  pair.link->cancel(pair.tag);
  CHECK(pair.link->in_flight() == 0);
  pair.asked();
  CHECK(pair.last == frontend::Event::gone);
  CHECK(pair.submit("q", 2) == WorkerLink::Sent::yes);
  pair.reply(pair.asked().first, "a");
  pair.await_answers(1);
  CHECK(pair.answers->all[0].number == 2);
}

TEST(who_waits_for_a_worker_that_ends_hears_of_it) {
  Pair pair;
  CHECK(pair.submit("q", 1) == WorkerLink::Sent::yes);
  CHECK(pair.submit(std::string(100'000, 'q'), 2) == WorkerLink::Sent::yes);
  pair.worker.reset();
  pair.await_answers(2);
  for (const Answers::One& one : pair.answers->all) CHECK(one.status == 14);
  CHECK(!pair.link->pump() && pair.link->is_gone());
  CHECK(pair.submit("q", 3) == WorkerLink::Sent::gone);
}

TEST(answers_outlive_their_worker) {
  Pair pair;
  const std::string large(1U << 20, 'x');
  CHECK(pair.submit("q", 1) == WorkerLink::Sent::yes);
  pair.reply(pair.asked().first, large);
  pair.await_answers(1);
  pair.worker.reset();
  pair.link.reset();
  CHECK(pair.answers->all[0].content == large);
  pair.answers->all.clear();  // the last that holds the memory
}

TEST(a_worker_that_says_what_it_likes_harms_its_own_queries) {
  using isolation::Packet;
  using isolation::PacketKind;
  const std::shared_ptr<WorkerLink> link = WorkerLink::made(link_bytes);
  const auto answers = std::make_shared<Answers>();
  const isolation::WorkerEnds ends = link->take_ends();
  std::uint64_t tag = 0;
  CHECK(link->submit(bytes_of("q"), 0, answers, 1, tag) == WorkerLink::Sent::yes);
  const auto say = [&](const Packet& packet) {
    CHECK(write(ends.socket, &packet, sizeof packet) == sizeof packet);
  };
  say({.kind = static_cast<PacketKind>(77), .tag = tag});
  say({.kind = PacketKind::freed, .offset = 12345});
  say({.kind = PacketKind::answer, .tag = tag + 1});  // of no query
  say({.kind = PacketKind::answer, .in_block = 1, .tag = tag + 1, .bytes = 10});
  CHECK(link->pump() && answers->all.empty());
  say({.kind = PacketKind::answer,
       .in_block = 1,
       .tag = tag,
       .offset = UINT64_MAX - 5,
       .bytes = 100});
  CHECK(link->pump() && answers->all.size() == 1 && answers->all[0].status == 13);
  CHECK(write(ends.socket, "x", 1) == 1);  // no packet: it is no worker of ours any more
  CHECK(!link->pump() && link->is_gone());
  for (const int fd : {ends.socket, ends.requests, ends.answers}) close(fd);
}

TEST(a_worker_that_does_not_read_is_sent_no_more_than_has_room) {
  const std::shared_ptr<WorkerLink> link = WorkerLink::made(link_bytes);
  const auto answers = std::make_shared<Answers>();
  const isolation::WorkerEnds ends = link->take_ends();
  const std::string content(8000, 'q');
  std::uint64_t tag = 0;
  std::size_t sent = 0;
  while (link->submit(bytes_of(content), 0, answers, 1, tag) == WorkerLink::Sent::yes) {
    link->cancel(tag);
    CHECK(++sent < 20'000);
  }
  CHECK(!link->is_gone() && sent > 1000);
  for (const int fd : {ends.socket, ends.requests, ends.answers}) close(fd);
}

TEST(many_queries_wait_for_a_worker_that_does_not_read) {
  Pair pair;
  constexpr std::uint64_t count = 5000;
  for (std::uint64_t number = 0; number < count; ++number)
    CHECK(pair.submit(std::string(1000, 'q'), number) == WorkerLink::Sent::yes);
  std::size_t begun = 0;
  while (begun < count) {
    CHECK(readable(pair.worker->events().fd()));
    for (frontend::Event& event : pair.worker->events().take(64))
      if (event.kind == frontend::Event::end) {
        pair.reply(event.token, "a");
        ++begun;
      }
    static_cast<void>(pair.link->pump());
  }
  pair.await_answers(count);
}

}  // namespace worker_link_tests
