#include <unistd.h>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "files/checksum.hpp"
#include "test.hpp"

namespace checksum_tests {

using namespace engine;

namespace {

std::uint64_t sum_of(std::string_view text) {
  Checksum sum;
  sum.add(text.data(), text.size());
  return sum.value();
}

}  // namespace

/// Values of the reference implementation, of each path: empty, below and above a stripe.
TEST(checksums_are_those_of_xxh64) {
  CHECK(sum_of("") == 0xEF46DB3751D8E999);
  CHECK(sum_of("a") == 0xD24EC4F1A98C6E5B);
  CHECK(sum_of("abc") == 0x44BC2CF5AD770999);
  CHECK(sum_of("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1);
}

TEST(a_checksum_does_not_depend_on_the_pieces) {
  std::string text(1000, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const std::size_t step = static_cast<std::size_t>(lanes) * 5 + 1;
  Checksum sum;
  for (std::size_t at = 0; at < text.size(); at += step) {
    const std::string piece = text.substr(at, step);
    sum.add(piece.data(), piece.size());
  }
  CHECK(sum.value() == sum_of(text));
}

TEST(a_flipped_bit_changes_it) {
  std::string text(300, 'x');
  const std::uint64_t before = sum_of(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] ^= 1;
    CHECK(sum_of(text) != before);
    text[i] ^= 1;
  }
}

TEST(a_file_is_summed_from_its_start) {
  char name[] = "/tmp/checksum-XXXXXX";
  const int file = mkstemp(name);
  CHECK(file >= 0);
  unlink(name);
  const std::string text(700'001, 'y');
  CHECK(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  const FileSum sum = sum_of_file(file);
  close(file);
  CHECK(sum.bytes == text.size());
  CHECK(sum.checksum == sum_of(text));
}

TEST(a_file_that_cannot_be_read) {
  try {
    static_cast<void>(sum_of_file(-1));
    CHECK(false);
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == EBADF);
  }
}

}  // namespace checksum_tests
