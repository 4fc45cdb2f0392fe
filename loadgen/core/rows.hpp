// A row a query: when it was meant to go, when it went, when it was done, and how.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace loadgen {

/// Not thread-safe. A query costs the stores of its row, and none ever waits for others' to move.
class Rows {
 public:
  /// Starts a row; returns its number.
  std::uint32_t begin(std::int64_t intended_ns, std::int64_t sent_ns);
  /// Ends it; an empty kind means success. What is said of a kind's first row is kept.
  void finish(std::uint32_t row, std::int64_t done_ns, std::string_view kind,
              std::string_view message);
  [[nodiscard]] bool is_finished(std::uint32_t row) const { return kind[row] != unfinished; }

  static constexpr std::int16_t unfinished = -1;

  std::deque<std::int64_t> intended_ns, sent_ns, done_ns;
  /// 0 for success, else 1 + the place of its kind.
  std::deque<std::int16_t> kind;
  std::vector<std::string> kinds, messages;

 private:
  [[nodiscard]] std::int16_t code(std::string_view kind, std::string_view message);
};

}  // namespace loadgen
