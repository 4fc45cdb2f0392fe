// Arrays of numbers taken out of JSON, and what stays.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "files/json_numbers.hpp"
#include "test.hpp"

namespace json_numbers_tests {

using namespace engine;

namespace {

JsonParts taken(const std::string& data) { return take_numbers("{\"data\":" + data + "}", "#", 1); }

bool stays(const std::string& data) {
  const std::string document = "{\"data\":" + data + "}";
  const JsonParts parts = take_numbers(document, "#", 1);
  return parts.arrays.empty() && parts.rest == document;
}

}  // namespace

TEST(integers_and_reals) {
  const JsonParts whole = taken("[1, -2,\n3 ]");
  CHECK(whole.rest == "{\"data\":\"#0\"}");
  CHECK((whole.arrays[0].integers == std::vector<std::int64_t>{1, -2, 3}));
  const JsonParts reals = taken("[1,2.5e-1,-0,0.1]");
  CHECK((reals.arrays[0].reals == std::vector<double>{1, 0.25, 0, 0.1}));
  CHECK(!std::signbit(reals.arrays[0].reals[2]));
  CHECK(std::signbit(taken("[-0.0]").arrays[0].reals[0]));
  const JsonParts bounds = taken("[9223372036854775807,-9223372036854775808]");
  CHECK(bounds.arrays[0].integers[0] == std::numeric_limits<std::int64_t>::max());
  CHECK(bounds.arrays[0].integers[1] == std::numeric_limits<std::int64_t>::min());
}

TEST(nests_of_a_tensor) {
  CHECK(taken("[[1,2],[3,4],[5,6]]").arrays[0].count() == 6);
  CHECK(taken("[[[1.5]],[[2]]]").arrays[0].count() == 2);
  CHECK(taken(std::string(32, '[') + "7" + std::string(32, ']')).arrays[0].count() == 1);
  for (const char* odd : {"[[1,2],[3]]", "[[1],2]", "[1,[2]]", "[[1],[[2]]]", "[[],[]]", "[]"})
    CHECK(stays(odd));
  CHECK(stays(std::string(33, '[') + "7" + std::string(33, ']')));
}

TEST(what_is_no_number_stays) {
  for (const char* odd : {"[01]",
                          "[1.]",
                          "[.5]",
                          "[+1]",
                          "[1e]",
                          "[1e+]",
                          "[-]",
                          "[NaN]",
                          "[1,]",
                          "[1 2]",
                          "[,1]",
                          "[1",
                          "[1,",
                          "[",
                          "[[1]",
                          "[1]]]x[",
                          "[true]",
                          "[null]",
                          "[\"1\"]",
                          "[1,\"a\"]",
                          "[1e999]",
                          "[1e-999]",
                          "[9223372036854775808]",
                          "[0.5,9223372036854775808]",
                          "[0x10]",
                          "[1,{}]"}) {
    if (std::string(odd) == "[1]]]x[") continue;
    CHECK(stays(odd));
  }
  CHECK(taken("[1]]]x[").rest == "{\"data\":\"#0\"]]x[}");
}

TEST(only_members_of_that_name) {
  CHECK(take_numbers(R"({"shape":[1,2],"data" : [3]})", "#", 1).rest ==
        R"({"shape":[1,2],"data" : "#0"})");
  const std::string texts = R"({"id":"\"data\":[1]","data":["a\\",[1]],"x":"\\"})";
  CHECK(take_numbers(texts, "#", 1).rest == texts);
  CHECK(take_numbers(R"({"data":[1]},{"data":[2,3]})", "#", 1).rest ==
        R"({"data":"#0"},{"data":"#1"})");
  CHECK(take_numbers(R"({"data":[1,2]})", "#", 3).arrays.empty());
  CHECK(take_numbers("", "#", 1).rest.empty());
  CHECK(take_numbers("\"data\":[1", "#", 1).rest == "\"data\":[1");
}

TEST(numbers_as_text) {
  const std::array reals{0.0, -0.0, 1.0, 0.1, 1e300, -2.5};
  CHECK(json_of(reals) == "[0.0,-0.0,1.0,0.1,1e+300,-2.5]");
  const std::array integers{std::numeric_limits<std::int64_t>::min(), std::int64_t{7}};
  CHECK(json_of(integers) == "[-9223372036854775808,7]");
  const std::array<std::uint64_t, 1> largest{std::numeric_limits<std::uint64_t>::max()};
  CHECK(json_of(largest) == "[18446744073709551615]");
  CHECK(json_of(std::span<const double>()) == "[]");
}

}  // namespace json_numbers_tests
