#include "files/checksum.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace engine {

namespace {

constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t prime_3 = 0x165667B19E3779F9;
constexpr std::uint64_t prime_4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t prime_5 = 0x27D4EB2F165667C5;

/// Fits the second-level cache, so that what was just copied there is summed from there.
constexpr std::size_t block_bytes = 256 << 10;

static_assert(std::endian::native == std::endian::little, "XXH64 reads little-endian words");

template <typename Word>
Word word_at(const std::byte* bytes) noexcept {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) noexcept {
  return std::rotl(lane + word * prime_2, 31) * prime_1;
}

std::uint64_t merge(std::uint64_t sum, std::uint64_t lane) noexcept {
  return (sum ^ round(0, lane)) * prime_1 + prime_4;
}

std::uint64_t avalanche(std::uint64_t sum) noexcept {
  sum = (sum ^ (sum >> 33)) * prime_2;
  sum = (sum ^ (sum >> 29)) * prime_3;
  return sum ^ (sum >> 32);
}

/// The bytes after the last whole stripe.
std::uint64_t finish(std::uint64_t sum, const std::byte* bytes, std::size_t count) noexcept {
  for (; count >= 8; bytes += 8, count -= 8)
    sum = std::rotl(sum ^ round(0, word_at<std::uint64_t>(bytes)), 27) * prime_1 + prime_4;
  if (count >= 4) {
    sum = std::rotl(sum ^ (word_at<std::uint32_t>(bytes) * prime_1), 23) * prime_2 + prime_3;
    bytes += 4, count -= 4;
  }
  for (; count > 0; ++bytes, --count)
    sum = std::rotl(sum ^ (std::to_integer<std::uint64_t>(*bytes) * prime_5), 11) * prime_1;
  return avalanche(sum);
}

}  // namespace

std::size_t Checksum::add_stripes(const std::byte* bytes, std::size_t count) noexcept {
  auto [a, b, c, d] = lanes_;  // in registers
  std::size_t done = 0;
  for (; done + stripe_bytes <= count; done += stripe_bytes) {
    a = round(a, word_at<std::uint64_t>(bytes + done));
    b = round(b, word_at<std::uint64_t>(bytes + done + 8));
    c = round(c, word_at<std::uint64_t>(bytes + done + 16));
    d = round(d, word_at<std::uint64_t>(bytes + done + 24));
  }
  lanes_ = {a, b, c, d};
  return done;
}

void Checksum::add(const void* bytes, std::size_t count) noexcept {
  const auto* next = static_cast<const std::byte*>(bytes);
  const std::size_t held = total_bytes_ % stripe_bytes;
  total_bytes_ += count;
  if (held > 0) {
    const std::size_t taken = std::min(stripe_bytes - held, count);
    std::copy_n(next, taken, rest_.begin() + static_cast<std::ptrdiff_t>(held));
    next += taken, count -= taken;
    if (held + taken < stripe_bytes) return;
    add_stripes(rest_.data(), stripe_bytes);
  }
  const std::size_t done = add_stripes(next, count);
  std::copy_n(next + done, count - done, rest_.begin());
}

std::uint64_t Checksum::value() const noexcept {
  std::uint64_t sum = prime_5;
  if (total_bytes_ >= stripe_bytes) {
    sum = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
          std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) sum = merge(sum, lane);
  }
  return finish(sum + total_bytes_, rest_.data(), total_bytes_ % stripe_bytes);
}

FileSum sum_of_file(int descriptor) {
  std::vector<std::byte> block(block_bytes);
  Checksum checksum;
  FileSum sum;
  for (;;) {
    const ssize_t count =
        pread(descriptor, block.data(), block.size(), static_cast<off_t>(sum.bytes));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::system_error(errno, std::generic_category(), "read");
    if (count == 0) break;
    checksum.add(block.data(), static_cast<std::size_t>(count));
    sum.bytes += static_cast<std::uint64_t>(count);
  }
  sum.checksum = checksum.value();
  return sum;
}

}  // namespace engine
