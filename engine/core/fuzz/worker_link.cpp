// What a process that runs a model says to the server: answers of queries, and whatever else.
#include "isolation/worker_link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "mutations.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

using isolation::Packet;
using isolation::PacketKind;

constexpr std::size_t link_bytes = 1U << 16;
constexpr std::uint64_t queries = 3;

/// Each query is answered once, and what is answered can be read.
class Answers final : public isolation::AnswerSink {
 public:
  void on_answer(std::uint64_t number, const isolation::WorkerAnswer& answer) override {
    must(number < queries && heard.insert(number).second);
    unsigned read = 0;
    for (const std::byte one : answer.content) read += static_cast<unsigned>(one);
    sum = read;
    if (answer.owner != nullptr) kept = answer.owner;
  }
  std::set<std::uint64_t> heard;
  std::shared_ptr<const void> kept;
  volatile unsigned sum = 0;
};

std::string packet(Packet head, std::string_view content = {}) {
  std::string made(reinterpret_cast<const char*>(&head), sizeof head);
  return made.append(content);
}

/// Each packet after its length.
std::string sized(std::string_view packet) {
  const auto bytes = static_cast<std::uint16_t>(packet.size());
  std::string made(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return made.append(packet);
}

void check(std::string_view input) {
  const auto link = isolation::WorkerLink::made(link_bytes);
  const auto answers = std::make_shared<Answers>();
  const isolation::WorkerEnds ends = link->take_ends();
  const std::string large(20'000, 'q');
  for (std::uint64_t number = 0; number < queries; ++number) {
    std::uint64_t tag = 0;
    const std::string_view content = number == 1 ? std::string_view(large) : "a query";
    must(link->submit({reinterpret_cast<const std::byte*>(content.data()), content.size()}, 0,
                      answers, number, tag) == isolation::WorkerLink::Sent::yes);
  }
  bool goes_on = true;
  while (goes_on && input.size() >= 2) {
    std::uint16_t bytes = 0;
    std::memcpy(&bytes, input.data(), sizeof bytes);
    input.remove_prefix(sizeof bytes);
    const std::string_view said = input.substr(0, bytes);
    input.remove_prefix(said.size());
    // Nothing is what closes the line.
    if (!said.empty()) static_cast<void>(send(ends.socket, said.data(), said.size(), MSG_DONTWAIT));
    goes_on = link->pump();
  }
  close(ends.socket);
  while (link->pump()) {
  }
  must(answers->heard.size() == queries && link->in_flight() == 0);
  for (const int fd : {ends.requests, ends.answers}) close(fd);
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string text = "an answer";
  const Packet small{.kind = PacketKind::answer, .tag = 1, .bytes = text.size()};
  const Packet large{
      .kind = PacketKind::answer, .in_block = 1, .tag = 2, .offset = 4096, .bytes = 30'000};
  const Packet refused{.kind = PacketKind::answer, .refusal = 1, .status = 8, .tag = 3};
  return {
      sized(packet(small, text)) + sized(packet(large)) + sized(packet(refused)),
      sized(packet({.kind = PacketKind::freed, .offset = 0})) + sized(packet(large)),
      sized(packet({.kind = PacketKind::query, .tag = 1, .bytes = 3}, "abc")) +
          sized(packet({.kind = PacketKind::cancel, .tag = 1})),
  };
}

std::string mutated(std::string input, Random& random) {
  return mutated_bytes(std::move(input), random);
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::fuzz::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
