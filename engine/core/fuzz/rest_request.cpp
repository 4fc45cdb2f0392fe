// A query over REST: a document, and tensors as bytes behind it.
#include <span>
#include <utility>

#include "mutations.hpp"
#include "target.hpp"
#include "tests/fuzz_http1.hpp"

namespace engine::fuzz {

std::vector<std::string> seeds() { return rest_seeds(); }

std::string mutated(std::string input, Random& random) {
  static const std::vector<std::string_view> words{"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "\"",
                                                   "\\",
                                                   "\"data\"",
                                                   "\"inputs\"",
                                                   "\"shape\"",
                                                   "\"binary_data_size\"",
                                                   "\"shared_memory_region\"",
                                                   "-1",
                                                   "9223372036854775808",
                                                   "1e400",
                                                   "null",
                                                   "true",
                                                   "[["};
  return random.one_in(3) ? mutated_bytes(std::move(input), random)
                          : with_word(std::move(input), words, random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::fuzz::rest_request({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
