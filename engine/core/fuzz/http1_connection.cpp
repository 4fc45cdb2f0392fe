// A client's whole connection over HTTP/1.1: answered the same however its bytes arrive.
#include <span>
#include <utility>

#include "mutations.hpp"
#include "target.hpp"
#include "tests/fuzz_http1.hpp"

namespace engine::fuzz {

std::vector<std::string> seeds() { return http1_seeds(); }

std::string mutated(std::string input, Random& random) {
  static const std::vector<std::string_view> words{"\r\n",
                                                   "\n",
                                                   "\r",
                                                   ": ",
                                                   " ",
                                                   "0\r\n\r\n",
                                                   "HTTP/1.1",
                                                   "HTTP/1.0",
                                                   "Content-Length: 5\r\n",
                                                   "Content-Length: 99999999999999999999\r\n",
                                                   "Transfer-Encoding: chunked\r\n",
                                                   "Expect: 100-continue\r\n",
                                                   "Connection: close\r\n",
                                                   "GET /v2 HTTP/1.1\r\n\r\n",
                                                   "ffffffffffffffff\r\n",
                                                   "POST"};
  return random.one_in(3) ? mutated_bytes(std::move(input), random)
                          : with_word(std::move(input), words, random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::fuzz::http1_connection({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
