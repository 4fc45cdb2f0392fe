#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "frontend/out_queue.hpp"
#include "test.hpp"

namespace out_queue_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

struct Pair {
  Pair() { CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0); }
  ~Pair() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  std::array<int, 2> ends{};
};

std::string read_all(int socket) {
  std::string found;
  char buffer[5000];
  for (ssize_t count = 0; (count = read(socket, buffer, sizeof buffer)) > 0;)
    found.append(buffer, static_cast<std::size_t>(count));
  return found;
}

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

/// A socket that takes a little at a time gets all of it in order, and memory is kept until then.
TEST(pieces_arrive_in_order_and_are_let_go) {
  const Pair pair;
  OutQueue queue;
  std::string sent, got;
  std::weak_ptr<std::string> kept;
  for (int i = 0; i < 40; ++i) {
    const std::string small(static_cast<std::size_t>(1 + i * 3), static_cast<char>('a' + i % 26));
    queue.append(bytes_of(small));
    const auto large = std::make_shared<std::string>(30'000, static_cast<char>('A' + i % 26));
    queue.append(bytes_of(*large), large);
    kept = large;
    sent += small + *large;
  }
  CHECK(queue.bytes() == sent.size());
  CHECK(!kept.expired());
  while (!queue.empty()) {
    CHECK(queue.write_to(pair.ends[0]));
    got += read_all(pair.ends[1]);
  }
  CHECK(got == sent);
  CHECK(kept.expired());
}

TEST(a_socket_that_is_closed_is_said_to_be) {
  Pair pair;
  close(pair.ends[1]);
  pair.ends[1] = -1;
  OutQueue queue;
  queue.append(bytes_of("hello"));
  CHECK(!queue.write_to(pair.ends[0]));
}

}  // namespace out_queue_tests
