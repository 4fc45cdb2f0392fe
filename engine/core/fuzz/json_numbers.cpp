// What clients send over HTTP: numbers of JSON documents are taken out, written, and taken out
// anew.
#include "files/json_numbers.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "mutations.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

constexpr std::string_view mark = "\x01:";

/// Numbers that are written must be the same when they are read.
template <typename Number>
void must_come_back(const std::vector<Number>& numbers) {
  const std::string document =
      "{\"data\":" + json_of(std::span<const Number>(numbers.data(), numbers.size())) + "}";
  const JsonParts parts = take_numbers(document, mark, 1);
  must(parts.arrays.size() == 1);
  if constexpr (std::is_same_v<Number, double>) {
    must(parts.arrays[0].reals.size() == numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      must(std::bit_cast<std::uint64_t>(parts.arrays[0].reals[i]) ==
           std::bit_cast<std::uint64_t>(numbers[i]));
  } else {
    must(parts.arrays[0].integers == numbers);
  }
}

void check(std::string_view document, std::size_t least) {
  const JsonParts parts = take_numbers(document, mark, least);
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.arrays.size(); ++i) {
    const JsonNumbers& numbers = parts.arrays[i];
    must(numbers.count() >= least && numbers.count() <= document.size());
    must(numbers.integers.empty() || numbers.reals.empty());
    at = parts.rest.find("\"" + std::string(mark) + std::to_string(i) + "\"", at);
    must(at != std::string::npos);
    for (const double real : numbers.reals) must(std::isfinite(real));
    if (!numbers.reals.empty()) must_come_back(numbers.reals);
    if (!numbers.integers.empty()) must_come_back(numbers.integers);
  }
  if (parts.arrays.empty()) must(parts.rest == document);
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [[1, 2.5], [-3e-2, 4]]}]})",
      R"({"inputs":[{"name":"a","shape":[3],"datatype":"INT64","data":[0,-9223372036854775808,9223372036854775807]},)"
      R"({"name":"b","shape":[2],"datatype":"BYTES","data":["te\"xt","\\"]}],"outputs":[{"name":"y"}],"id":"1"})",
      R"({"data" : [ 1.7976931348623157e308 , 5e-324, -0.0, 0.1 ], "parameters": {"data": [true, null]}})",
      R"({"data":[[[[[[[[1],[2]]]]]]]],"x":{"data":[]},"data":[1e400,1]})",
      R"({"data":[18446744073709551615,1],"text":"\"data\":[1,2]"})",
  };
}

std::string mutated(std::string input, Random& random) {
  static const std::vector<std::string_view> words{"[",
                                                   "]",
                                                   ",",
                                                   ":",
                                                   "{",
                                                   "}",
                                                   "\"",
                                                   "\\",
                                                   "\"data\"",
                                                   "\"data\":[",
                                                   "-",
                                                   "-0",
                                                   "1.",
                                                   ".5",
                                                   "1e",
                                                   "1e+",
                                                   "1e999",
                                                   "1e-9",
                                                   "0",
                                                   "00",
                                                   " ",
                                                   "\n",
                                                   "[[",
                                                   "]]",
                                                   "true",
                                                   "null",
                                                   "\\u0000",
                                                   "9223372036854775808",
                                                   "4.9406564584124654e-324",
                                                   "123456789012345678901234567890"};
  return random.one_in(3) ? mutated_bytes(std::move(input), random)
                          : with_word(std::move(input), words, random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  engine::fuzz::check(document, 1);
  engine::fuzz::check(document, 3);
  return 0;
}
