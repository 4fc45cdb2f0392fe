// What clients send over gRPC: messages as they arrive, requests, and values for a model of all
// types.
#include "frontend/infer_request.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "frontend/infer_query.hpp"
#include "frontend/message.hpp"
#include "memory/account.hpp"
#include "mutations.hpp"
#include "ort/types.hpp"
#include "shared_memory/regions.hpp"
#include "target.hpp"

namespace engine::fuzz {

namespace {

using namespace frontend;

constexpr std::size_t most_message_bytes = 48 * 1024, region_bytes = 4096;

struct Type {
  const char* name;
  int number;
  std::uint32_t contents;  ///< its field of InferTensorContents
  std::size_t bytes;
};
constexpr Type types[] = {
    {"BOOL", ort::kBool, 1, 1},     {"INT8", ort::kInt8, 2, 1},     {"INT16", ort::kInt16, 2, 2},
    {"INT32", ort::kInt32, 2, 4},   {"INT64", ort::kInt64, 3, 8},   {"UINT8", ort::kUint8, 4, 1},
    {"UINT16", ort::kUint16, 4, 2}, {"UINT32", ort::kUint32, 4, 4}, {"UINT64", ort::kUint64, 5, 8},
    {"FP16", ort::kFloat16, 0, 2},  {"FP32", ort::kFloat, 6, 4},    {"FP64", ort::kDouble, 7, 8},
    {"BYTES", ort::kString, 8, 0},  {"BF16", ort::kBfloat16, 0, 2}};

std::string message(std::uint32_t field, std::string_view content) {
  std::string made;
  put_length(made, field, content.size());
  return made.append(content);
}

/// An entry of a map of parameters, of field 4 but for outputs.
std::string parameter(std::uint32_t field, std::string_view name, std::string_view value) {
  return message(field, message(1, name) + message(2, value));
}

std::string number(std::uint32_t field, std::uint64_t value) {
  std::string made;
  put_varint(made, std::uint64_t{field} << 3);
  put_varint(made, value);
  return made;
}

std::string place(std::uint32_t field, std::uint64_t offset, std::uint64_t bytes) {
  return parameter(field, "shared_memory_region", message(3, "region")) +
         parameter(field, "shared_memory_offset", number(2, offset)) +
         parameter(field, "shared_memory_byte_size", number(2, bytes));
}

std::string input(const char* name, const Type& type, std::string_view more) {
  return message(
      5, message(1, name) + message(2, type.name) + message(3, "\x02\x03") + std::string(more));
}

/// Six elements of that type as raw contents have them; texts are empty.
std::string raw(const Type& type) {
  return std::string(6 * (type.bytes == 0 ? 4 : type.bytes), '\0');
}

/// The model's inputs `a`, `b`, `c` are of one type.
std::string request(const Type& type, std::string_view first, std::string_view second,
                    std::string_view third, std::string_view more) {
  return message(1, type.name) + message(3, "id") + input("a", type, first) +
         input("b", type, second) + input("c", type, third) + message(6, message(1, "y")) +
         std::string(more);
}

std::string requests_of(const Type& type) {
  const std::string sent = message(7, raw(type)), shared = place(4, 64, 6 * type.bytes);
  const std::string wanted = message(6, message(1, "z") + place(2, 512, 64));
  const std::string due =
      parameter(4, "timeout", number(2, 5000)) + parameter(4, "priority", number(5, 2));
  std::string all;
  const auto add = [&](const std::string& one) { all += grpc_message(one); };
  add(request(type, "", "", "", sent + sent + sent + due));
  add(request(type, shared, "", shared, sent + wanted));
  const std::string typed =
      message(5, message(type.contents == 0 ? 1 : type.contents,
                         std::string(type.contents < 6 ? 6 : 6 * type.bytes, '\1')));
  add(request(type, typed, typed, typed, due + wanted));
  return all;
}

/// Models by the names of their types, each with three inputs and two outputs.
const std::vector<FrontModel>& models() {
  static const std::vector<FrontModel> all = [] {
    std::vector<FrontModel> made(std::size(types));
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].called = std::make_shared<ModelName>(ModelName{types[i].name, ""});
      made[i].inputs = {{"a", types[i].name, types[i].number, std::vector<std::int64_t>{2, 3}},
                        {"b", types[i].name, types[i].number, std::vector<std::int64_t>{-1, -1}},
                        {"c", types[i].name, types[i].number, std::nullopt}};
      made[i].outputs = {{"y", types[i].name, types[i].number},
                         {"z", types[i].name, types[i].number}};
    }
    return made;
  }();
  return all;
}

/// A region of shared memory that is there as long as the process.
class SharedMemory {
 public:
  SharedMemory() {
    const int file = shm_open(key_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    must(file >= 0 && ftruncate(file, region_bytes) == 0);
    close(file);
    regions_.add({.name = "region", .key = key_, .offset = 0, .bytes = region_bytes});
    shm_unlink(key_.c_str());
  }
  [[nodiscard]] const Regions& regions() const noexcept { return regions_; }

 private:
  const std::string key_ = "/surplus-fuzz-" + std::to_string(getpid());
  Regions regions_;
};

void answer(const Message& message) {
  static const SharedMemory shared;
  InferRequest request;
  if (!request.read(message.content())) return;
  const auto name = [](const FrontModel& model) { return std::string_view(model.called->name); };
  const auto model = std::ranges::find(models(), request.model, name);
  if (model == models().end()) return;
  static_cast<void>(priority_of(request.priority));
  try {
    const auto wanted = wanted_outputs(request, *model, shared.regions());
    std::vector<ValuePtr> values;
    if (!wanted || !collect(request, message, *model, shared.regions(), most_message_bytes, values))
      return;
    must(wanted->size() <= model->outputs.size() && values.size() == model->inputs.size());
    for (const ValuePtr& value : values) must(value != nullptr);
  } catch (const std::exception&) {
    // Python says what is wrong.
  }
}

/// All messages, given in pieces of that size.
std::vector<Message> messages_of(std::string_view stream, std::size_t piece) {
  std::vector<Message> found;
  MessageReader reader;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const std::string_view part = stream.substr(at, piece);
    Bytes left(reinterpret_cast<const std::byte*>(part.data()), part.size());
    while (!left.empty()) {
      const auto state = reader.feed(left, most_message_bytes);
      if (state == MessageReader::State::message) found.push_back(reader.take());
      if (state > MessageReader::State::message) return found;
    }
  }
  return found;
}

/// Messages of 16 kB and more count, and leave nothing behind.
void check(std::string_view stream) {
  Random random = random_of(stream);
  const std::vector<Message> whole = messages_of(stream, stream.size() + 1);
  const std::vector<Message> pieces = messages_of(stream, 1 + random.below(1 + random.below(100)));
  must(whole.size() == pieces.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    must(std::ranges::equal(whole[i].content(), pieces[i].content()));
    must(whole[i].bytes <= most_message_bytes);
    static_cast<void>(raw_offset(whole[i].content().first(random.below(whole[i].bytes + 1))));
    answer(whole[i]);
    answer(pieces[i]);
  }
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const Type& type : types) all.push_back(requests_of(type));
  return all;
}

/// Most often within one of the messages, whose length is mended.
std::string mutated(std::string stream, Random& random) {
  if (random.one_in(10)) return mutated_bytes(std::move(stream), random);
  const std::vector<Message> messages = messages_of(stream, stream.size() + 1);
  if (messages.empty()) return mutated_bytes(std::move(stream), random);
  const std::size_t chosen = random.below(messages.size());
  std::string changed;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::string content(text_of(messages[i].content()));
    if (i == chosen) content = mutated_protobuf(content, random);
    changed += grpc_message(content);
  }
  return changed;
}

}  // namespace engine::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  engine::fuzz::check({reinterpret_cast<const char*>(data), size});
  engine::fuzz::must(engine::MemoryAccount::process().held_bytes() == 0);
  return 0;
}
