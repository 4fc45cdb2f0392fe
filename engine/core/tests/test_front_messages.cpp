#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/infer_query.hpp"
#include "frontend/message.hpp"
#include "test.hpp"

namespace front_messages_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

using State = MessageReader::State;

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string framed(std::string_view content) {
  std::string message;
  put_prefix(message, content.size());
  return message.append(content);
}

/// All messages of what arrives in pieces of that size.
std::vector<std::string> read_in_pieces(const std::string& stream, std::size_t piece) {
  MessageReader reader;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const std::string part = stream.substr(at, piece);
    Bytes left = bytes_of(part);
    while (!left.empty())
      if (reader.feed(left, 1 << 20) == State::message)
        found.emplace_back(text_of(reader.take().content()));
  }
  CHECK(!reader.is_within());
  return found;
}

}  // namespace

TEST(messages_are_the_same_however_they_arrive) {
  const std::vector<std::string> sent{"one", "", std::string(1000, 'x'), "four"};
  std::string stream;
  for (const std::string& message : sent) stream += framed(message);
  for (std::size_t piece = 1; piece <= stream.size(); piece += 1 + piece / 8)
    CHECK(read_in_pieces(stream, piece) == sent);
}

TEST(what_is_larger_than_allowed_takes_no_memory) {
  const std::string announced("\x00\xFF\xFF\xFF\xFF", 5);
  MessageReader reader;
  Bytes left = bytes_of(announced);
  CHECK(reader.feed(left, 1 << 20) == State::too_large);
  CHECK(reader.announced() == 0xFFFFFFFF);
}

TEST(a_message_that_is_compressed_says_so) {
  const std::string stream("\x01\x00\x00\x00\x01z", 6);
  MessageReader reader;
  Bytes left = bytes_of(stream);
  CHECK(reader.feed(left, 10) == State::message);
  CHECK(reader.take().is_compressed);
}

/// However long what is before it: it is read in place.
TEST(the_first_raw_tensor_begins_at_a_multiple_of_64) {
  for (std::size_t length = 1; length < 130; ++length) {
    std::string message;
    put_text(message, 1, std::string(length, 'm'));
    put_text(message, 7, std::string(300, 'r'));
    const std::size_t offset = raw_offset(bytes_of(message));
    MessageReader reader;
    const std::string stream = framed(message);
    Bytes left = bytes_of(stream);
    CHECK(reader.feed(left, 1 << 20) == State::message);
    const Message read = reader.take();
    CHECK(reinterpret_cast<std::uintptr_t>(read.data + offset) % 64 == 0);
    CHECK(text_of(read.content()) == message);
  }
}

}  // namespace front_messages_tests
