#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "fuzz_http1.hpp"
#include "http1/request_parser.hpp"
#include "test.hpp"

namespace fuzz_http1_tests {

using namespace engine;

namespace {

constexpr int rounds = 500;

/// A seed with some of its bytes other ones, missing, or there twice.
std::string changed(std::string seed, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return random() % std::max<std::size_t>(1, limit); };
  for (std::size_t count = 1 + below(4); count > 0; --count) {
    const std::size_t at = below(seed.size()), bytes = below(12);
    switch (below(4)) {
      case 0:
        if (!seed.empty()) seed[at] = static_cast<char>(random());
        break;
      case 1:
        seed.erase(at, bytes);
        break;
      case 2:
        seed.insert(at, seed.substr(below(seed.size()), bytes));
        break;
      default:
        seed.insert(at, 1, "\r\n: \t{}[],\"0-9"[below(14)]);
    }
  }
  return seed;
}

void run_changed(const std::vector<std::string>& seeds, void (*target)(fuzz::Input), int from) {
  std::mt19937 random(static_cast<unsigned>(from));
  for (int round = 0; round < rounds; ++round)
    for (const std::string& seed : seeds) {
      const std::string bytes = changed(seed, random);
      target({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    }
}

}  // namespace

TEST(any_bytes_are_answered_the_same_however_they_arrive) {
  if (!http1::RequestParser::missing().empty()) return;
  run_changed(fuzz::http1_seeds(), fuzz::http1_connection, lanes);
}

TEST(any_bytes_are_a_query_or_left_to_python) {
  run_changed(fuzz::rest_seeds(), fuzz::rest_request, lanes);
}

}  // namespace fuzz_http1_tests
