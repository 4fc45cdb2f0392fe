#include <string>
#include <string_view>

#include "frontend/grpc.hpp"
#include "frontend/infer_request.hpp"
#include "test.hpp"

namespace infer_request_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string entry(std::string_view name, std::uint32_t field, std::uint64_t number) {
  std::string value, pair;
  put_varint(value, field << 3);
  put_varint(value, number);
  put_text(pair, 1, name);
  put_text(pair, 2, value);
  std::string message;
  put_text(message, 4, pair);
  return message;
}

std::string input(std::string_view name, std::string_view datatype, std::string_view shape,
                  std::string_view more = {}) {
  std::string tensor;
  put_text(tensor, 1, name);
  put_text(tensor, 2, datatype);
  put_text(tensor, 3, shape);
  tensor += more;
  std::string message;
  put_text(message, 5, tensor);
  return message;
}

std::string plain() {
  std::string message;
  put_text(message, 1, "detector");
  put_text(message, 2, "3");
  put_text(message, 3, "seventh");
  message += input("x", "FP32", std::string_view("\x02\x81\x01", 3));
  put_text(message, 6, std::string("\x0A\x01y", 3));
  put_text(message, 7, "raw!");
  return message;
}

bool reads(const std::string& message) {
  InferRequest request;
  return request.read(bytes_of(message));
}

}  // namespace

TEST(a_plain_request_is_read_in_place) {
  const std::string message = plain() + entry("timeout", 2, 250) + entry("priority", 5, 2) +
                              entry("triton_enable_empty_final_response", 1, 1);
  InferRequest request;
  CHECK(request.read(bytes_of(message)));
  CHECK(request.model == "detector" && request.version == "3" && request.id == "seventh");
  CHECK(request.inputs.size() == 1 && request.inputs[0].name == "x");
  CHECK(request.inputs[0].datatype == "FP32");
  CHECK((request.inputs[0].shape == std::vector<std::int64_t>{2, 129}));
  CHECK(request.outputs.size() == 1 && request.outputs[0].name == "y");
  CHECK(request.raw.size() == 1 && text_of(request.raw[0]) == "raw!");
  CHECK(request.timeout_us == 250 && request.priority == 2);
  CHECK(static_cast<const void*>(request.raw[0].data()) ==
        message.data() + raw_offset(bytes_of(message)));
}

/// No byte of a request that ends early is read beyond its end (ASan sees it), and none is taken.
TEST(a_request_that_is_cut_off_is_never_read_as_another) {
  const std::string message = plain();
  InferRequest whole;
  CHECK(whole.read(bytes_of(message)));
  for (std::size_t length = 0; length < message.size(); ++length) {
    const std::string cut = message.substr(0, length);
    InferRequest request;
    if (request.read(bytes_of(cut)))
      CHECK(request.raw.size() + request.outputs.size() < 2);  // cut between two fields
  }
}

TEST(what_is_not_plain_is_left_to_python) {
  CHECK(reads(plain()));
  CHECK(!reads(plain() + entry("timeout", 1, 1)));                  // of another type
  CHECK(!reads(plain() + entry("sequence_id", 2, 1)));              // a parameter that means more
  CHECK(!reads(plain() + entry("priority", 3, 1)));                 // a text
  CHECK(!reads(plain() + entry("timeout", 2, ~std::uint64_t{0})));  // below zero
  CHECK(!reads(plain() + input("z", "FP32", "\x01")));              // no content of its own
  CHECK(!reads(plain() + "\x40\x01"));                              // a field 8
  CHECK(!reads(plain() + "\x0F"));                                  // a type that there is not
  CHECK(!reads(std::string(11, '\xFF')));                           // a number without an end
  std::string parameters;
  put_text(parameters, 4, "\x0A\x01k");
  CHECK(!reads(input("x", "FP32", "\x01", parameters)));       // shared memory, say
  CHECK(!reads(input("x", "FP32", std::string(33, '\x01'))));  // dimensions without end
}

TEST(tensors_in_shared_memory_are_told_by_their_parameters) {
  const auto numbered = [](std::string_view name, std::uint64_t number) {
    return entry(name, 2, number);
  };
  std::string region, pair;
  put_text(pair, 1, "shared_memory_region");
  put_text(pair, 2, std::string("\x1A\x01r", 3));
  put_text(region, 4, pair);
  std::string message;
  put_text(message, 1, "m");
  message += input("a", "FP32", "\x01", region + numbered("shared_memory_byte_size", 4));
  message += input("b", "FP32", "\x01");
  put_text(message, 7, "raw!");
  InferRequest request;
  CHECK(request.read(bytes_of(message)));
  CHECK(request.inputs[0].part.region == "r" && request.inputs[0].part.bytes == 4);
  CHECK(request.inputs[1].part.region.empty() && request.raw.size() == 1);
  CHECK(!reads(input("a", "FP32", "\x01", region)));  // without a size
  CHECK(!reads(input("a", "FP32", "\x01", numbered("shared_memory_byte_size", 4))));
}

TEST(raw_content_is_found_before_it_has_arrived) {
  const std::string message = plain();
  const std::size_t offset = raw_offset(bytes_of(message));
  CHECK(message.substr(offset) == "raw!");
  CHECK(raw_offset(bytes_of(message.substr(0, offset))) == offset);
  CHECK(raw_offset(bytes_of(message.substr(0, offset - 2))) == 0);
  CHECK(raw_offset({}) == 0);
}

TEST(timeouts_of_grpc_are_read) {
  CHECK(timeout_ns("1H") == 3'600'000'000'000 && timeout_ns("2M") == 120'000'000'000);
  CHECK(timeout_ns("3S") == 3'000'000'000 && timeout_ns("4m") == 4'000'000);
  CHECK(timeout_ns("5u") == 5'000 && timeout_ns("99999999n") == 99'999'999);
  CHECK(timeout_ns("99999999H") == std::int64_t{366} * 24 * 3'600'000'000'000);
  for (const char* const wrong : {"", "S", "1", "1s", "-1S", "1.5S", "123456789S"})
    CHECK(!timeout_ns(wrong));
}

TEST(texts_are_percent_encoded) {
  CHECK(encoded_message("all is well") == "all is well");
  CHECK(encoded_message("100 %\n\xC3\xA9") == "100 %25%0A%C3%A9");
  CHECK(encoded_message(std::string(100'000, 'x')).size() <= 1500);
}

}  // namespace infer_request_tests
