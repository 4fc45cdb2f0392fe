#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/json_reader.hpp"
#include "frontend/rest.hpp"
#include "frontend/rest_request.hpp"
#include "test.hpp"

namespace rest_request_tests {

using namespace engine;
using namespace engine::frontend;

namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

Rest rest_of(std::string method, std::string target) {
  http1::RequestHead head;
  head.method = std::move(method);
  head.target = std::move(target);
  return Rest(head);
}

/// Whether a document is plain, with those bytes behind it.
bool is_plain(std::string_view document, InferRequest& request, std::string_view raw = {}) {
  Rest rest = rest_of("POST", "/v2/models/m/infer");
  CHECK(rest_method(rest) == Method::infer);
  rest.head.fields = {{"inference-header-content-length", std::to_string(document.size())}};
  // Memory of its own: nothing behind it may be looked at.
  const std::vector<char> body = [&] {
    std::vector<char> all(document.begin(), document.end());
    all.insert(all.end(), raw.begin(), raw.end());
    return all;
  }();
  return read_rest_request(rest, bytes_of({body.data(), body.size()}), request);
}
bool is_plain(std::string_view document, std::string_view raw = {}) {
  InferRequest request;
  return is_plain(document, request, raw);
}

const std::string whole =
    R"( {"id":"q-7","parameters":{"binary_data_output":true,"timeout":5,"priority":2},
"inputs":[{"name":"a","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},
{"shape":[3],"name":"b","datatype":"INT64","data":[1,[2],3e0]},
{"name":"c","datatype":"BOOL","shape":[],"parameters":{"shared_memory_region":"r",
"shared_memory_byte_size":1,"shared_memory_offset":4}}],"outputs":[{"name":"y"},
{"name":"z","parameters":{"binary_data":false}}]} )";

std::string replaced(std::string text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  CHECK(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

}  // namespace

TEST(a_query_of_rest_is_read_in_place) {
  const std::string document = replaced(whole, "[1,[2],3e0]", "[[1],[2],[3e0]]");
  Rest rest = rest_of("POST", "/v2/models/m/versions/2/infer");
  CHECK(rest_method(rest) == Method::infer);
  rest.head.fields = {{"inference-header-content-length", std::to_string(document.size())}};
  const std::string body = document + "12345678";
  InferRequest request;
  CHECK(read_rest_request(rest, bytes_of(body), request));
  CHECK(request.model == "m" && request.version == "2" && request.id == "q-7");
  CHECK(request.timeout_us == 5 && request.priority == 2 && request.as_bytes);
  CHECK(request.inputs.size() == 3 && request.raw.size() == 1);
  CHECK(text_of(request.raw[0]) == "12345678");
  CHECK(request.inputs[0].name == "a" && request.inputs[0].datatype == "FP32");
  CHECK((request.inputs[0].shape == std::vector<std::int64_t>{1, 2}));
  CHECK((request.inputs[1].numbers->reals == std::vector<double>{1, 2, 3}));
  CHECK(request.inputs[2].part.region == "r" && request.inputs[2].part.offset == 4);
  CHECK(request.outputs.size() == 2 && !request.outputs[0].as_bytes);
  CHECK(request.outputs[1].as_bytes == false);
}

TEST(a_document_that_is_cut_off_or_goes_on_is_not_plain) {
  const std::string plain = replaced(whole, "[1,[2],3e0]", "[1,2,3]");
  CHECK(is_plain(plain, "12345678"));
  for (std::size_t length = 0; length + 1 < plain.size(); ++length)
    CHECK(!is_plain(std::string_view(plain).substr(0, length), "12345678"));
  CHECK(!is_plain(plain + "x", "12345678"));
  CHECK(!is_plain(plain, "1234567"));
  CHECK(!is_plain(plain, "123456789"));
}

TEST(what_is_not_plain_is_left_to_python) {
  const std::string plain = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
  CHECK(is_plain(plain));
  const auto not_with = [&](std::string_view before, std::string_view after) {
    CHECK(!is_plain(replaced(plain, before, after)));
  };
  not_with("{\"inputs", "{\"more\":1,\"inputs");  // a member that is unknown
  not_with("\"data\"", "\"data\":[2],\"data\"");  // one twice
  not_with("[1]}]", "[1.5]}],\"inputs\":[]");     //
  not_with("\"name\":\"x\",", "");                // one missing
  not_with("\"x\"", "\"\\u0078\"");               // an escape
  not_with("\"x\"", "\"\xC3\xBC\"");              // not ASCII
  not_with("\"x\"", "\"a\nb\"");                  // a control character
  not_with("[1],\"data\"", "[1.0],\"data\"");     // sizes that are not whole
  not_with("[1],\"data\"", "[01],\"data\"");      //
  not_with("[1],\"data\"", "[1e2],\"data\"");     //
  not_with("[1],\"data\"", "[99999999999999999999],\"data\"");
  not_with("[1]}", "[true]}");  // values that are no numbers
  not_with("[1]}", "[\"1\"]}");
  not_with("[1]}", "[]}");
  not_with("[1]}", "[[1],[2,3]]}");
  not_with("[1]}", "[1e999]}");
  not_with("[1]}", "[NaN]}");
  not_with("\"data\":[1]", "\"data\":1");
  not_with("\"data\":[1]", "\"parameters\":{\"classification\":2},\"data\":[1]");
  not_with("\"data\":[1]", "\"parameters\":{\"binary_data_size\":0},\"data\":[1]");
  not_with("\"data\":[1]", "\"parameters\":{\"binary_data_size\":-1}");
  not_with("\"data\":[1]", "\"parameters\":{\"shared_memory_region\":\"r\"}");
  not_with("{\"inputs", "{\"parameters\":{\"priority\":-1},\"inputs");
  not_with("{\"inputs", "{\"parameters\":{\"timeout\":true},\"inputs");
  not_with("{\"inputs",
           "{\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":1}}],\"inputs");
  not_with("{\"inputs",
           "{\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":true,"
           "\"shared_memory_region\":\"r\",\"shared_memory_byte_size\":1}}],\"inputs");
  CHECK(!is_plain("[]") && !is_plain("{}") && !is_plain(""));
  CHECK(!is_plain(std::string(100'000, '[')));
  CHECK(!is_plain(plain + std::string(most_document_bytes, ' ')));
}

TEST(heads_that_say_more_are_left_to_python) {
  const std::string document =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]})";
  const auto reads = [&](std::vector<std::pair<std::string, std::string>> fields) {
    Rest rest = rest_of("POST", "/v2/models/m/infer");
    rest.head.fields = std::move(fields);
    InferRequest request;
    return read_rest_request(rest, bytes_of(document), request);
  };
  const std::string length = "inference-header-content-length";
  const std::string right = std::to_string(document.size());
  CHECK(reads({}));
  CHECK(reads({{length, right}, {"content-type", "x"}}));
  CHECK(!reads({{"content-encoding", "gzip"}}));
  CHECK(!reads({{length, right}, {length, right}}));
  for (const char* const wrong : {"", "-1", "+5", "0x10", "1e3", "7 7", "99999999999999999999"})
    CHECK(!reads({{length, wrong}}));
  CHECK(!reads({{length, std::to_string(document.size() + 1)}}));
}

TEST(paths_of_queries) {
  const auto method = [](std::string method, std::string target) {
    Rest rest = rest_of(std::move(method), std::move(target));
    return rest_method(rest);
  };
  CHECK(method("GET", "/v2/health/live") == Method::live);
  CHECK(method("GET", "/v2/health/ready") == Method::server_ready);
  CHECK(method("GET", "/v2/models/a-b.c/ready") == Method::model_ready);
  CHECK(method("GET", "/v2/models/a/versions/1/ready") == Method::model_ready);
  CHECK(method("GET", "/v2/models/ready") == Method::other);
  CHECK(method("GET", "/v2/models/a%20b/ready") == Method::other);
  CHECK(method("POST", "/v2/models/a/ready") == Method::other);
  CHECK(method("POST", "/v2/models/a-b.c/infer") == Method::infer);
  CHECK(method("POST", "/v2/models/a/versions/1/infer") == Method::infer);
  const std::string_view others[] = {
      "/v2/models/infer",
      "/v2/models//infer",
      "/v2/models/a%20b/infer",
      "/v2/models/a/infer?x=1",
      "/v2/models/a/b/infer",
      "/v2/models/a/versions//infer",
      "/v2/models/a/versions/infer",
      "/v2/models/a/versions/1/2/infer",
      "/v2/models/a",
      "/v2/models/a/infer/",
      "",
      "/v2/health/live",
  };
  for (const std::string_view target : others)
    CHECK(method("POST", std::string(target)) == Method::other);
  CHECK(method("GET", "/v2/models/a/infer") == Method::other);
  CHECK(method("HEAD", "/v2/health/live") == Method::other);
}

TEST(texts_are_written_as_pythons_json_does) {
  const auto written = [](std::string_view text) {
    std::string to;
    put_json_text(to, text);
    return to;
  };
  CHECK(written("plain ~") == "\"plain ~\"");
  CHECK(written("a\"\\\n\r\t\b\f\x01\x7F") == R"("a\"\\\n\r\t\b\f\u0001\u007f")");
  CHECK(written("\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80") == R"("\u00fc\u20ac\ud83d\ude00")");
  CHECK(written("\xFF\xC3(\xED\xA0\x80\xC0\x80") ==
        R"("\ufffd\ufffd(\ufffd\ufffd\ufffd\ufffd\ufffd")");
  CHECK(is_utf8("\xF4\x8F\xBF\xBF") && !is_utf8("\xF4\x90\x80\x80") && !is_utf8("\xE2\x82"));
}

}  // namespace rest_request_tests
