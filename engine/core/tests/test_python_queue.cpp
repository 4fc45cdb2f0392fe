#include <poll.h>

#include <utility>
#include <vector>

#include "frontend/python_queue.hpp"
#include "test.hpp"

namespace python_queue_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

void put_call(PythonQueue& queue, std::uint64_t token) {
  for (const Event::Kind kind : {Event::call, Event::message, Event::end})
    queue.put({.kind = kind, .token = token});
}

bool rings(const PythonQueue& queue) {
  pollfd ready{.fd = queue.fd(), .events = POLLIN, .revents = 0};
  return poll(&ready, 1, 0) == 1;
}

std::vector<std::uint64_t> tokens_of(const std::vector<Event>& events) {
  std::vector<std::uint64_t> tokens;
  for (const Event& event : events) tokens.push_back(event.token);
  return tokens;
}

}  // namespace

TEST(events_are_taken_in_their_order_a_few_at_a_time) {
  PythonQueue queue;
  CHECK(!rings(queue) && queue.take(5).empty());
  for (const std::uint64_t token : {1U, 2U}) put_call(queue, token);
  CHECK(rings(queue));
  CHECK((tokens_of(queue.take(4)) == std::vector<std::uint64_t>{1, 1, 1, 2}));
  CHECK(rings(queue));
  CHECK((tokens_of(queue.take(4)) == std::vector<std::uint64_t>{2, 2}));
  CHECK(!rings(queue) && queue.take(4).empty());
}

TEST(calls_that_are_gone_before_python_has_heard_of_them_are_forgotten) {
  PythonQueue queue;
  for (const std::uint64_t token : {1U, 2U, 3U}) put_call(queue, token);
  CHECK(queue.take(1).front().kind == Event::call);
  CHECK(queue.withdraw(2) == 3);
  CHECK(queue.withdraw(1) == 2);  // Python has heard of it
  CHECK(queue.withdraw(4) == 0);
  CHECK((tokens_of(queue.take(9)) == std::vector<std::uint64_t>{3, 3, 3}));
}

TEST(only_so_many_calls_and_items_wait_for_python) {
  PythonQueue queue(2);
  put_call(queue, 1);
  CHECK(!queue.is_full());
  queue.put({.kind = Event::item, .token = 2});
  CHECK(queue.is_full());
  CHECK(queue.withdraw(2) == 1 && !queue.is_full());
  put_call(queue, 3);
  CHECK(queue.is_full());
  static_cast<void>(queue.take(1));
  CHECK(!queue.is_full());
}

}  // namespace python_queue_tests
